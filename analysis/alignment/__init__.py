"""Do personas hold? Each is interviewed, and a judge says whether its answers fit its leaning (UCL study, section 3.1).

questions.toml  the 21 questions, the leanings     interviews.py     one answer, the question to the judge
review.py       what people are to check           agreement.py      how far raters agree (Cohen's kappa, Krippendorff's alpha)
report.py       all of it in words                 share_heatmap.py  shares aligned, with intervals, and the figure
persona_validation.py  every persona, journaled    (what the judge is asked: analysis/rubrics/alignment.toml)
"""

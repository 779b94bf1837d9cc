//! Scores against the core values, and quality metrics.

/// The weight of each core value. The default is practicality 0.4, trust 0.3, innovation 0.3.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueWeights(pub Vec<(String, f64)>);

impl Default for ValueWeights {
    fn default() -> Self {
        ValueWeights(vec![
            ("practicality".into(), 0.4),
            ("trust".into(), 0.3),
            ("innovation".into(), 0.3),
        ])
    }
}

/// The score of one core value.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueScore {
    /// Name of the value.
    pub name: String,
    /// The score from 0 to 10; `None` until scored.
    pub value: Option<f64>,
}

/// All scores of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// One per core value, in the order of the file.
    pub scores: Vec<ValueScore>,
    /// Sum of weight times score, two decimals; `None` until every weighted value has a score.
    pub weighted: Option<f64>,
}

impl Default for Evaluation {
    fn default() -> Self {
        let unscored = |(name, _)| ValueScore { name, value: None };
        Evaluation {
            scores: ValueWeights::default()
                .0
                .into_iter()
                .map(unscored)
                .collect(),
            weighted: None,
        }
    }
}

impl Evaluation {
    /// Returns the score of a value, if it has one.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.scores
            .iter()
            .find(|score| score.name == name)
            .and_then(|score| score.value)
    }

    pub(crate) fn set(&mut self, name: &str, value: f64) {
        match self.scores.iter_mut().find(|score| score.name == name) {
            Some(score) => score.value = Some(value),
            None => self.scores.push(ValueScore {
                name: name.into(),
                value: Some(value),
            }),
        }
    }

    /// Computes the weighted score, rounded to two decimals; `None` while a weighted value lacks
    /// its score.
    pub fn weighted_score(&self, weights: &ValueWeights) -> Option<f64> {
        let mut sum = 0.0;
        for (name, weight) in &weights.0 {
            sum += weight * self.get(name)?;
        }
        Some((sum * 100.0).round() / 100.0)
    }
}

named! {
    /// The quality metrics a thinking run knows, each from 0 to 1.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum QualityMetric {
        /// Everything that is needed is there.
        Completeness = "completeness",
        /// The result does not contradict itself.
        Consistency = "consistency",
        /// The result serves the core values.
        AlignmentWithValues = "alignment_with_values",
    }
}

/// The metrics of a run, in the order of [`QualityMetric::ALL`]; `None` until measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct QualityMetrics(pub [Option<f64>; 3]);

impl QualityMetrics {
    /// Returns the value of a metric.
    pub fn get(&self, metric: QualityMetric) -> Option<f64> {
        self.0[metric as usize]
    }

    pub(crate) fn set(&mut self, metric: QualityMetric, value: f64) {
        self.0[metric as usize] = Some(value);
    }
}

//! Figure 4: the errors of two tasks against the amount of data of the second.

mod drawing;
mod view;

use serde::{Deserialize, Serialize};

use self::view::{Change, Line, View};
use super::words::list;
use crate::results::{Drawing, Judgement, Results};
use crate::study::Study;
use crate::thresholds::{CLOSE, LEARNED, NEAR_ALPHA, STRONGLY};
use crate::verdict::{Claim, Estimate, Findings, Test, Threshold};

/// The questions of 4a and 4b: in replica symmetry, and with one step.
const ALONE: [usize; 2] = [0, 1];
/// Those of 4c and 4d with γ = 0.1, and with γ = 1, for which one step was not asked.
const WEAK: [usize; 2] = [0, 2];
const WHOLE: [usize; 2] = [1, usize::MAX];

/// Figure 4a: the second task, γ = 1.
pub struct Second;
/// Figure 4b: the first task, γ = 1.
pub struct First;
/// Figure 4c: the second task, γ = 0.1.
pub struct SecondWeakly;
/// Figure 4d: the first task, γ = 0.1.
pub struct FirstWeakly;

/// One task with a weak KL term, and with the whole one.
#[derive(Serialize, Deserialize)]
pub struct Weakly {
    /// γ = 0.1.
    weak: View,
    /// γ = 1.
    whole: View,
}

impl Weakly {
    fn of(results: &Results, task: usize) -> Option<Self> {
        Some(Self {
            weak: View::of(results, WEAK, 0.1, task)?,
            whole: View::of(results, WHOLE, 1.0, task)?,
        })
    }

    /// The lines of both by similarity.
    fn lines(&self) -> impl Iterator<Item = (&Line, &Line)> {
        let whole = |weak: &Line| self.whole.lines.iter().find(|line| line.r_0 == weak.r_0);
        self.weak.lines.iter().filter_map(move |weak| Some((weak, whole(weak)?)))
    }
}

/// Gradient descent beside the theory.
fn matches(view: &View, place: &str) -> Claim {
    let away = view.agreement(false);
    let claim = Claim::new(
        "Gradient descent matches the theory well, except around the transition.",
        place,
        vec![away.close(CLOSE)],
    )
    .remark([away.consistent()]);
    let one_step = |claim: Claim, around: bool| match view.agreement_with_one_step(around) {
        Some(agreement) => claim.remark([agreement.close(CLOSE), agreement.consistent()]),
        None => claim,
    };
    let claim = one_step(claim, false);
    if !view.has_transition() {
        return claim;
    }
    let around = view.agreement(true);
    one_step(claim.remark([around.close(CLOSE), around.consistent()]), true)
}

/// What one step of replica-symmetry breaking changes, line by line; nothing if it was not asked.
fn breaking(view: &View) -> Option<String> {
    if view.lines.iter().any(|line| line.one_step.is_empty()) {
        return None;
    }
    let place = |alpha: Option<f64>| alpha.map_or("no jump".into(), |at| format!("α_2 = {at:.3}"));
    let said = view.lines.iter().map(|line| match line.change() {
        None => format!("nothing for r_0 = {}", line.r_0),
        Some(Change { broken: [from, to], largest: (change, at) }) => format!(
            "for r_0 = {}, where the second task is broken from α_2 = {from:.2} to {to:.2}, ε_{} by at most {change:+.3} (at α_2 = \
             {at:.2}), and the jump of ε_2 from {} to {}",
            line.r_0,
            view.task,
            place(line.jump()),
            place(line.jump_with_one_step())
        ),
    });
    let said = list(&said.collect::<Vec<_>>());
    Some(format!("One step of replica-symmetry breaking in each task changes {said}."))
}

/// Puts the parts together.
fn judgement(view: &View, words: &str, mut claims: Vec<Claim>, place: &str) -> Judgement {
    let distance = view.agreement(false).distance();
    let distance = distance.map_or("an unknown distance".into(), |distance| distance.text());
    claims.push(matches(view, place));
    let mut notes = vec![
        "Lines: the exact theory at β = 20, stable solution; dotted with one step of replica-symmetry breaking (1RSB) where the \
         second task needs it. Symbols: gradient descent. Ours: the grid of α_2."
            .to_owned(),
        "Around the transition: α_2 within 0.5 of the largest fall of the replica-symmetric ε_2 between neighbouring α_2, if \
         that is above 0.05."
            .into(),
        format!(
            "Gradient descent samples no ensemble: at the end of the first task its q_⋆ is {:.3} or more, and the \
             anchor of the second is as hard.",
            view.least_norm
        ),
    ];
    notes.extend(breaking(view));
    Judgement {
        found: format!(
            "{words}; away from the transition gradient descent is {distance} (root mean square) from the theory."
        ),
        findings: Findings::Claims(claims),
        notes,
    }
}

fn by_similarity(lines: &[Line], text: impl Fn(&Line) -> String) -> String {
    list(&lines.iter().map(|l| format!("{} for r_0 = {}", text(l), l.r_0)).collect::<Vec<_>>())
}

impl Study for Second {
    type Measured = View;

    fn measure(results: &Results) -> Option<View> {
        View::of(results, ALONE, 1.0, 2)
    }

    fn judge(view: &View) -> Judgement {
        let place = "Sec. II C, Fig. 4a";
        let changes = |of: fn(&Line, &Line) -> Option<Estimate>, who: &str| -> Vec<Test> {
            let change = |pair: &[Line]| {
                let quantity = format!(
                    "{who}: change of ε_2, averaged over α_2, from r_0 = {} to r_0 = {}",
                    pair[0].r_0, pair[1].r_0
                );
                Test::below(quantity, of(&pair[1], &pair[0]), Threshold::ZERO)
            };
            view.lines.windows(2).map(change).collect()
        };
        let simulated = |more: &Line, less: &Line| more.average().minus(&less.average());
        let predicted = |more: &Line, less: &Line| {
            Some(Estimate::exact(more.predicted_mean()? - less.predicted_mean()?))
        };
        let easier = Claim::new(
            "Similarity makes the second task easier to learn, opposition harder.",
            place,
            changes(simulated, "gradient descent"),
        )
        .remark(changes(predicted, "theory"));
        let said = by_similarity(&view.lines, |line| line.average().text());
        let words = format!("The error of the second task, averaged over α_2, is {said}");
        judgement(view, &words, vec![easier], place)
    }

    fn draw(results: &Results) -> Option<Drawing> {
        Some(drawing::draw(&Self::measure(results)?))
    }
}

impl Study for First {
    type Measured = View;

    fn measure(results: &Results) -> Option<View> {
        View::of(results, ALONE, 1.0, 1)
    }

    fn judge(view: &View) -> Judgement {
        let place = "Sec. II C, Fig. 4b";
        let rises = view.lines.iter().map(|line| {
            let quantity = format!(
                "r_0 = {}: ε_1 after task 2 less ε_1 after task 1, averaged over α_2",
                line.r_0
            );
            Test::above(quantity, line.average_rise().estimate, Threshold::ZERO)
        });
        let claim = Claim::new(
            "The error of the first task rises while the second is learned.",
            place,
            rises.collect(),
        );
        let said = by_similarity(&view.lines, |line| line.average_rise().text());
        let words =
            format!("While the second task is learned the error of the first rises by {said}");
        judgement(view, &words, vec![claim], place)
    }

    fn draw(results: &Results) -> Option<Drawing> {
        Some(drawing::draw(&Self::measure(results)?))
    }
}

/// How much less α_2 the theory needs with a weak KL term. What is not learned within the range needs
/// more than its end, and counts with that; nothing is known if neither is learned.
fn data_saved(weak: &Line, whole: &Line) -> Option<f64> {
    match (whole.learned_from(), weak.learned_from()) {
        (Some(whole), Some(weak)) => Some(whole - weak),
        (None, Some(from)) => Some(whole.end()? - from).filter(|saved| *saved > 0.0),
        (Some(from), None) => Some(from - weak.end()?),
        (None, None) => None,
    }
}

/// By how much the jump of the theory moves. To nine digits: both are places of a grid.
fn moved(weak: &Line, whole: &Line) -> Option<f64> {
    Some(((weak.jump()? - whole.jump()?).abs() * 1e9).round() / 1e9)
}

fn data(alpha: Option<f64>) -> String {
    alpha.map_or("beyond the range".into(), |alpha| format!("α_2 = {alpha:.2}"))
}

impl Study for SecondWeakly {
    type Measured = Weakly;

    fn measure(results: &Results) -> Option<Weakly> {
        Weakly::of(results, 2)
    }

    fn judge(measured: &Weakly) -> Judgement {
        let place = "Sec. II C, Fig. 4c";
        let (mut less, mut moves) = (Vec::new(), Vec::new());
        for (weak, whole) in measured.lines() {
            let r = weak.r_0;
            let quantity = format!(
                "r_0 = {r}: α_2 from which the theory's ε_2 is below {}, {} with γ = 1 less {} with γ = 0.1",
                LEARNED.value,
                data(whole.learned_from()),
                data(weak.learned_from())
            );
            let saved = data_saved(weak, whole).map(Estimate::exact);
            less.push(Test::above(quantity, saved, Threshold::ZERO));
            let quantity = format!(
                "r_0 = {r}: ε_2 of gradient descent, averaged over α_2, γ = 0.1 less γ = 1"
            );
            let change = weak.average().minus(&whole.average());
            less.push(Test::below(quantity, change, Threshold::ZERO));
            let quantity = format!(
                "r_0 = {r}: distance of the α_2 at which the theory's ε_2 jumps, γ = 1 from γ = 0.1"
            );
            let distance = moved(weak, whole).map(Estimate::exact);
            moves.push(Test::above(quantity, distance, NEAR_ALPHA));
        }
        let claims = vec![
            Claim::new("With γ = 0.1 the second task needs less data.", place, less),
            Claim::new("With γ = 0.1 the critical α_2 changes.", place, moves),
        ];
        let said = by_similarity(&measured.weak.lines, |line| data(line.learned_from()));
        let errors = by_similarity(&measured.weak.lines, |line| line.average().text());
        let words = format!(
            "With γ = 0.1 the theory learns the second task from {said}, and the error of gradient descent, averaged \
             over α_2, is {errors}"
        );
        judgement(&measured.weak, &words, claims, place)
    }

    fn draw(results: &Results) -> Option<Drawing> {
        Some(drawing::draw(&View::of(results, WEAK, 0.1, 2)?))
    }
}

impl Study for FirstWeakly {
    type Measured = Weakly;

    fn measure(results: &Results) -> Option<Weakly> {
        Weakly::of(results, 1)
    }

    fn judge(measured: &Weakly) -> Judgement {
        let place = "Sec. II C, Fig. 4d";
        let mut tests = Vec::new();
        for (weak, whole) in measured.lines() {
            let predicted = || Some(weak.predicted_mean()? - whole.predicted_mean()?);
            let simulated = weak.average().minus(&whole.average());
            for (who, rise) in
                [("theory", predicted().map(Estimate::exact)), ("gradient descent", simulated)]
            {
                let quantity =
                    format!("r_0 = {}, {who}: ε_1 averaged over α_2, γ = 0.1 less γ = 1", weak.r_0);
                tests.push(Test::above(quantity, rise, STRONGLY));
            }
        }
        let degraded = Claim::new(
            "With γ = 0.1 the memory of the first task is strongly degraded.",
            place,
            tests,
        );
        let said = by_similarity(&measured.weak.lines, |line| line.average().text());
        let words =
            format!("With γ = 0.1 the error of the first task, averaged over α_2, is {said}");
        judgement(&measured.weak, &words, vec![degraded], place)
    }

    fn draw(results: &Results) -> Option<Drawing> {
        Some(drawing::draw(&View::of(results, WEAK, 0.1, 1)?))
    }
}

#[cfg(test)]
mod tests {
    use super::view::{Found, Predicted};
    use super::*;
    use crate::verdict::Outcome::{self, Contradicted, Supported, Undecided};

    /// Noise of five trials.
    const NOISE: [f64; 5] = [0.001, -0.001, 0.0005, -0.0005, 0.0];

    fn outcomes(judgement: Judgement) -> Vec<Outcome> {
        match judgement.findings {
            Findings::Claims(claims) => claims.iter().map(|claim| claim.outcome).collect(),
            Findings::Answers(_) => unreachable!("a figure of the paper"),
        }
    }

    /// A line whose theory is `eps` before α_2 = `jump` and 0.01 from there on, and whose simulation
    /// differs from it by `apart`. The error was `before` after the first task.
    fn line(r_0: f64, eps: f64, jump: f64, apart: f64, before: f64) -> Line {
        let theory = |alpha_2: f64| if alpha_2 < jump { eps } else { 0.01 };
        let point = |alpha_2: f64| {
            let eps = Some(theory(alpha_2));
            Predicted { alpha_2, eps, eps_2: eps, rsb: 0 }
        };
        let found = |alpha_2: f64| Found {
            alpha_2,
            diverged: 0,
            eps: NOISE.iter().map(|noise| theory(alpha_2) + apart + noise).collect(),
            before: NOISE.iter().map(|noise| before - noise).collect(),
        };
        Line {
            r_0,
            theory: (1..=80).map(|i| point(f64::from(i) * 0.05)).collect(),
            one_step: Vec::new(),
            found: (1..=8).map(|i| found(f64::from(i) * 0.5)).collect(),
        }
    }

    fn view(task: usize, lines: Vec<Line>) -> View {
        View { gamma: 1.0, task, least_norm: 0.99, lines }
    }

    /// All trials but this number are lost.
    fn keep(mut view: View, trials: usize) -> View {
        for found in view.lines.iter_mut().flat_map(|line| &mut line.found) {
            found.eps.truncate(trials);
            found.before.truncate(trials);
        }
        view
    }

    #[test]
    fn similarity_helps_and_gradient_descent_is_close_or_not() {
        let of = |eps: [f64; 3], apart: f64| {
            let lines = [-0.5, 0.0, 0.5].into_iter().zip(eps);
            view(2, lines.map(|(r, eps)| line(r, eps, 2.02, apart, 0.5)).collect())
        };
        let judge = |view: &View| outcomes(Second::judge(view));
        assert_eq!(judge(&of([0.4, 0.3, 0.2], 0.005)), [Supported, Supported]);
        assert_eq!(judge(&of([0.4, 0.2, 0.3], 0.005)), [Contradicted, Supported]);
        assert_eq!(judge(&of([0.4, 0.3, 0.2], 0.1)), [Supported, Contradicted]);
        assert_eq!(judge(&keep(of([0.4, 0.3, 0.2], 0.005), 2)), [Undecided, Undecided]);
        let mut missing = of([0.4, 0.3, 0.2], 0.005);
        missing.lines[0].theory.pop();
        assert_eq!(judge(&missing), [Supported, Undecided]);
    }

    #[test]
    fn around_the_transition_nothing_is_decided() {
        let mut far = view(2, vec![line(0.0, 0.4, 2.02, 0.0, 0.5)]);
        far.lines[0].found[3].eps = vec![0.01; 5];
        let Findings::Claims(claims) = Second::judge(&far).findings else { unreachable!() };
        let matches = claims.last().unwrap();
        assert_eq!(matches.outcome, Supported);
        let remarks: Vec<Outcome> = matches.remarks.iter().map(|test| test.outcome).collect();
        assert_eq!(remarks[1], Contradicted, "{:?}", matches.remarks);
        let smooth = view(2, vec![line(0.0, 0.04, 2.02, 0.0, 0.5)]);
        let Findings::Claims(claims) = Second::judge(&smooth).findings else { unreachable!() };
        assert_eq!(claims.last().unwrap().remarks.len(), 1);
    }

    #[test]
    fn the_first_task_is_forgotten_or_not() {
        let of = |before: f64, apart: f64| view(1, vec![line(0.0, 0.2, 9.0, apart, before)]);
        let judge = |view: &View| outcomes(First::judge(view));
        assert_eq!(judge(&of(0.1, 0.01)), [Supported, Supported]);
        assert_eq!(judge(&of(0.3, 0.01)), [Contradicted, Supported]);
        assert_eq!(judge(&of(0.1, 0.1)), [Supported, Contradicted]);
        assert_eq!(judge(&of(0.2002, 0.0)), [Undecided, Supported]);
        assert_eq!(judge(&keep(of(0.1, 0.01), 2)), [Undecided, Undecided]);
    }

    #[test]
    fn a_weak_pull_saves_data_of_the_second_task_or_not() {
        let of = |weak: f64, whole: f64| Weakly {
            weak: view(2, vec![line(0.0, 0.4, weak, 0.01, 0.5)]),
            whole: view(2, vec![line(0.0, 0.4, whole, 0.01, 0.5)]),
        };
        let judge = |measured: &Weakly| outcomes(SecondWeakly::judge(measured));
        assert_eq!(judge(&of(1.52, 2.52)), [Supported, Supported, Supported]);
        assert_eq!(judge(&of(2.52, 1.52)), [Contradicted, Supported, Supported]);
        // A tenth is within the rounding of the paper's α_c.
        assert_eq!(judge(&of(1.47, 1.57))[1..], [Contradicted, Supported]);
        // Without a jump there is no place to compare.
        assert_eq!(judge(&of(1.52, 9.0)), [Supported, Undecided, Supported]);
        assert_eq!(judge(&of(9.0, 1.52)), [Contradicted, Undecided, Supported]);
        assert_eq!(judge(&of(9.0, 9.0))[1..], [Undecided, Supported]);
        let few = of(1.52, 2.52);
        let few = Weakly { weak: keep(few.weak, 2), whole: keep(few.whole, 2) };
        assert_eq!(judge(&few), [Undecided, Supported, Undecided]);
        let mut far = of(1.52, 2.52);
        far.weak.lines[0] = line(0.0, 0.4, 1.52, 0.1, 0.5);
        assert_eq!(judge(&far)[2], Contradicted);
    }

    #[test]
    fn a_weak_pull_degrades_the_memory_or_not() {
        let of = |weak: f64, whole: f64, apart: f64| Weakly {
            weak: view(1, vec![line(0.0, weak, 9.0, apart, 0.0)]),
            whole: view(1, vec![line(0.0, whole, 9.0, apart, 0.0)]),
        };
        let judge = |measured: &Weakly| outcomes(FirstWeakly::judge(measured));
        assert_eq!(judge(&of(0.3, 0.1, 0.01)), [Supported, Supported]);
        assert_eq!(judge(&of(0.13, 0.1, 0.01)), [Contradicted, Supported]);
        assert_eq!(judge(&of(0.3, 0.1, 0.1)), [Supported, Contradicted]);
        let few = of(0.3, 0.1, 0.01);
        let few = Weakly { weak: keep(few.weak, 2), whole: keep(few.whole, 2) };
        assert_eq!(judge(&few), [Undecided, Undecided]);
    }

    #[test]
    fn measurements_survive_being_kept() {
        let kept = view(1, vec![line(0.5, 0.4, 2.0, 0.0, 0.1)]);
        let text = serde_json::to_string(&kept).unwrap();
        let read: View = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}

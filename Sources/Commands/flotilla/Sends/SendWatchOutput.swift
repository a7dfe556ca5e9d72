internal import Gateway
internal import JSON
internal import Jobs
internal import Sends

/// A line of `--watch`: the progress of a send, which counts its phones and jobs, and the outcomes of its jobs so far.
struct SendWatchOutput {
    private static let barCharacters = 30

    private let progress: SendProgress
    private let outcomes: SendOutcomes

    init(progress: SendProgress, outcomes: SendOutcomes) {
        self.progress = progress
        self.outcomes = outcomes
    }

    /// The number of jobs without an outcome. Phones that reported late can add jobs after the lanes were
    /// counted, so there can be more outcomes than counted jobs.
    private var remainingJobs: Int { progress.isDryRun ? 0 : max(0, progress.expanded - outcomes.finalJobs) }

    var isComplete: Bool { progress.isComplete && remainingJobs == 0 }

    /// The counts of rejected jobs by reason, the largest first.
    private var failures: [(key: String, value: Int)] {
        outcomes.reasons.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    }

    var line: String {
        let reason = progress.isUnknownGroup ? " (unknown_group: no start has created it)" : ""
        var parts = ["[\(bar)] \(progress.stateName)\(reason)"]
        parts.append("targeted \(progress.targeted)")
        if progress.isDryRun { return (parts + ["would push \(progress.expanded)"]).joined(separator: ", ") }
        parts.append("pushed \(outcomes[.accepted] + outcomes[.rejected] + outcomes[.unknown])")
        parts.append("accepted \(outcomes[.accepted])")
        let superseded = outcomes[.superseded] + progress.dropped
        for (outcome, count) in [
            ("superseded", superseded), ("expired", outcomes[.expired]), ("unknown", outcomes[.unknown]),
        ] where count > 0 { parts.append("\(outcome) \(count)") }
        if outcomes[.rejected] > 0 {
            let reasons = failures.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
            parts.append("failed \(outcomes[.rejected]) (\(reasons))")
        }
        if progress.partlyVisitedLanes > 0 {
            parts.append("not visited: some in \(progress.partlyVisitedLanes) lanes")
        }
        // The number of jobs is known only when all lanes are done.
        if progress.isComplete { parts.append("to go \(remainingJobs)") }
        return parts.joined(separator: ", ")
    }

    /// The bar: the share of lanes that are done, times the share of their jobs that have an outcome.
    private var bar: String {
        let laneCount = progress.plannerPart?.laneCount ?? 0
        let lanesDone = min(progress.laneTallies.count, laneCount)
        var share = laneCount > 0 ? Double(lanesDone) / Double(laneCount) : 0
        if progress.expanded > 0, !progress.isDryRun {
            share *= Double(progress.expanded - remainingJobs) / Double(progress.expanded)
        }
        let filledCount = isComplete ? Self.barCharacters : Int(share * Double(Self.barCharacters))
        return String(repeating: "#", count: filledCount)
            + String(repeating: ".", count: Self.barCharacters - filledCount)
    }

    var json: String {
        JSONLine.text { json in
            json.field("sendId", progress.id)
            json.field("verdict", progress.stateName)
            json.field("isComplete", isComplete)
            json.field("lanesExpected", progress.plannerPart?.laneCount ?? 0)
            json.field("lanesDone", progress.laneTallies.count)
            json.field("targeted", progress.targeted)
            json.field("expanded", progress.expanded)
            json.field("dropped", progress.dropped)
            json.field("lanesPartlyVisited", progress.partlyVisitedLanes)
            json.field("accepted", outcomes[.accepted])
            json.field("superseded", outcomes[.superseded])
            json.field("expired", outcomes[.expired])
            json.field("unknown", outcomes[.unknown])
            json.field("rejected", outcomes[.rejected])
            json.name("reasons")
            json.beginObject()
            for failure in failures {
                json.name(failure.key)
                json.value(failure.value)
            }
            json.endObject()
            json.field("toGo", remainingJobs)
        }
    }
}

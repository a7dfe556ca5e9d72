/// A fault script that runs: with the counts of its rules and its position in the timetable. The same script
/// with the same requests at the same times gives the same faults.
struct RunningScript: Sendable {
    private(set) var script: FaultScript
    private var rules: [RunningRule] = []
    // The position in the timetable: the round, from 0, and the index of its next step.
    private var round = 0
    private var nextStepIndex = 0

    init(_ script: FaultScript) {
        self.script = script
        rules = script.rules.enumerated().map { RunningRule($1, at: $0, seed: script.seed) }
    }

    /// The counts of each rule, in the order of the rules.
    var hits: [RunningRule.HitCounts] { rules.map(\.hits) }

    /// Appends a rule. The other rules keep their counts. Returns false at a limit of `FaultScript`.
    mutating func add(_ rule: FaultRule) -> Bool {
        let tokenCount = script.rules.reduce(rule.match.tokens.count) { $0 + $1.match.tokens.count }
        guard rules.count < FaultScript.rulesMax, tokenCount <= FaultScript.tokensMax else { return false }
        rules.append(RunningRule(rule, at: rules.count, seed: script.seed))
        script.rules.append(rule)
        return true
    }

    // MARK: Requests and connections

    /// Returns the faults for a request. For each kind of fault, the first matching rule that has one decides.
    /// - Parameter milliseconds: time since the script was set.
    mutating func fault(for facts: RequestFacts, milliseconds: Int) -> InjectedFault {
        if rules.isEmpty { return .none }
        var injected = InjectedFault.none
        var isDelayed = false
        for index in rules.indices where rules[index].rule.match.matches(facts, milliseconds: milliseconds) {
            guard rules[index].shouldActOnNextMatch() else { continue }
            let effect = rules[index].rule.effect
            var hasActed = false
            if let requestFault = effect.requestFault, injected.requestFault == nil {
                injected.requestFault = requestFault.resolved(time: facts.receivedAt)
                hasActed = true
            }
            if let delay = effect.delay, !isDelayed {
                injected.delayMilliseconds = rules[index].drawMilliseconds(from: delay)
                isDelayed = true
                hasActed = true
            }
            if let connectionFault = effect.connectionFault, injected.connectionFault == nil {
                injected.connectionFault = connectionFault
                hasActed = true
            }
            if hasActed { rules[index].recordAction() }
        }
        return injected
    }

    /// Returns the faults for a new connection, from all rules that match it.
    mutating func faults(
        forOpenedConnection number: Int, milliseconds: Int
    ) -> [InjectedFault.ConnectionFault] {
        var faults: [InjectedFault.ConnectionFault] = []
        for index in rules.indices {
            let rule = rules[index].rule
            guard rule.match.matches(openedConnection: number, milliseconds: milliseconds),
                rules[index].shouldActOnNextMatch(), let fault = rule.effect.connectionFault
            else { continue }
            rules[index].recordAction()
            faults.append(fault)
        }
        return faults
    }

    // MARK: Timetable

    /// Time of the next step in milliseconds since the script was set, or nil without a next step.
    var nextStepMilliseconds: Int? {
        guard let timetable = script.timetable, nextStepIndex < timetable.steps.count else { return nil }
        return round * (timetable.everyMilliseconds ?? 0) + timetable.steps[nextStepIndex].atMilliseconds
    }

    /// Returns the faults of the steps that are due, and moves to the next step. If whole rounds were missed,
    /// only the last complete round and the current one are caught up.
    /// - Parameter milliseconds: time since the script was set.
    mutating func takeDueFaults(milliseconds: Int) -> [InjectedFault.ConnectionFault] {
        guard let timetable = script.timetable else { return [] }
        if let every = timetable.everyMilliseconds {
            let currentRound = milliseconds / every
            if currentRound > round + 1 {
                round = currentRound - 1
                nextStepIndex = 0
            }
        }
        var dueFaults: [InjectedFault.ConnectionFault] = []
        while let nextMilliseconds = nextStepMilliseconds, nextMilliseconds <= milliseconds {
            dueFaults.append(timetable.steps[nextStepIndex].fault)
            nextStepIndex += 1
            if nextStepIndex == timetable.steps.count, timetable.everyMilliseconds != nil {
                nextStepIndex = 0
                round += 1
            }
        }
        return dueFaults
    }
}

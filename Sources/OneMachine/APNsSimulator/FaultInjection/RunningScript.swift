/// A script with its progress. The same script with the same requests at the same times gives the same
/// rulings.
struct RunningScript: Sendable {
    private(set) var script: FaultScript
    private var rules: [RunningRule] = []
    private var nextStep = 0
    private var round = 0

    init(_ script: FaultScript) {
        self.script = script
        rules = script.rules.enumerated().map { RunningRule($1, at: $0, seed: script.seed) }
    }

    var hits: [RunningRule.HitCounts] { rules.map(\.hits) }

    /// Appends a rule. The other rules keep their progress. Returns false at the limit.
    mutating func add(_ rule: FaultRule) -> Bool {
        let tokens = script.rules.reduce(rule.match.tokens.count) { $0 + $1.match.tokens.count }
        guard rules.count < FaultScript.rulesMax, tokens <= FaultScript.tokensMax else { return false }
        rules.append(RunningRule(rule, at: rules.count, seed: script.seed))
        script.rules.append(rule)
        return true
    }

    // MARK: Requests and connections

    /// - Parameter milliseconds: time since the script was set.
    mutating func fault(for facts: RequestFacts, milliseconds: Int) -> InjectedFault {
        if rules.isEmpty { return .none }
        var injected = InjectedFault.none
        var isDelayed = false
        for index in rules.indices where rules[index].rule.match.matches(facts, milliseconds: milliseconds) {
            guard rules[index].shouldActOnNextMatch() else { continue }
            let effect = rules[index].rule.effect
            var acts = false
            if let course = effect.requestFault, injected.requestFault == .none {
                injected.requestFault = course.resolved(time: facts.receivedAt)
                acts = true
            }
            if let delay = effect.delay, !isDelayed {
                injected.delayMilliseconds = rules[index].drawMilliseconds(from: delay)
                isDelayed = true
                acts = true
            }
            if let fault = effect.connectionFault, injected.connectionFault == nil {
                injected.connectionFault = fault
                acts = true
            }
            if acts { rules[index].recordAction() }
        }
        return injected
    }

    mutating func faults(forOpenedConnection number: Int, milliseconds: Int) -> [InjectedFault
        .ConnectionFault]
    {
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
        guard let timetable = script.timetable, nextStep < timetable.steps.count else { return nil }
        return round * (timetable.everyMilliseconds ?? 0) + timetable.steps[nextStep].atMilliseconds
    }

    /// Returns the steps that are due. If whole rounds were missed, their steps are skipped, because only the
    /// last round has a visible effect.
    mutating func takeDueFaults(milliseconds: Int) -> [InjectedFault.ConnectionFault] {
        guard let timetable = script.timetable else { return [] }
        if let every = timetable.everyMilliseconds, milliseconds / every > round + 1 {
            round = milliseconds / every - 1
            nextStep = 0
        }
        var due: [InjectedFault.ConnectionFault] = []
        while let next = nextStepMilliseconds, next <= milliseconds {
            due.append(timetable.steps[nextStep].fault)
            nextStep += 1
            if nextStep == timetable.steps.count, timetable.everyMilliseconds != nil {
                nextStep = 0
                round += 1
            }
        }
        return due
    }
}

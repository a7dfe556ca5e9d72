internal import Payloads
internal import Sends

/// The rows of a lane that decide about one recipient: the group's, and the recipient's own if there is one.
struct RecipientRows {
    let whole: LaneScope
    let own: LaneScope?

    /// The cancelled sends. The cancel of a send to one recipient can also be stored under the group's key.
    var cancelledSends: Set<String> { Set(whole.cancelledSends + (own?.cancelledSends ?? [])) }

    private var endVersion: Int64 { max(whole.endVersion, own?.endVersion ?? 0) }

    /// Returns the event that an expansion is for the recipient, from the versions of the newest sends.
    func event(of expansion: Expansion, generation: Int64, version: Int64) -> ScopeEvent {
        switch expansion.content.event {
        case .start:
            let joinedGeneration = self.generation(joinedBy: generation, with: .start)
            let isOvertaken = whole.endVersion > generation || hasEndedAlone(since: joinedGeneration)
            return isOvertaken ? .overtakenStart : .start
        case .update:
            if endVersion > version { return .overtakenUpdate }
            return isReplaced(expansion, version: version) ? .replacedUpdate : .update
        case .end: return endVersion > version ? .overtakenEnd : .end
        }
    }

    /// Returns the recipient's generation after a send. A recipient that was started again after its own END has a
    /// separate generation, and every later start joins that generation.
    func generation(joinedBy generation: Int64, with event: PushEvent) -> Int64 {
        let known = event == .start ? 0 : whole.generation
        return max(generation, known, own?.generation ?? 0)
    }

    /// The recipient's phase in a generation. The planner sends nothing after an END of the whole group before the next
    /// start. So only the recipient's own END may be newer than the generation of a send that is not overtaken.
    func phase(in generation: Int64) -> ScopePhase {
        ScopePhase(start: generation, end: own?.endVersion ?? 0)
    }

    /// Whether an END of this recipient alone came after the generation.
    func hasEndedAlone(since generation: Int64) -> Bool { own.map { $0.endVersion > generation } ?? false }

    /// Whether a newer update replaces an update. A cancelled update replaces nothing. The state of a start replaces no
    /// update of an activity that already runs.
    private func isReplaced(_ update: Expansion, version: Int64) -> Bool {
        guard update.isConflatable else { return false }
        if whole.updateVersion > version { return true }
        guard let own, own.updateVersion > version else { return false }
        return own.standing(without: cancelledSends).map { $0.version > version } ?? false
    }

    // MARK: Timestamps

    func timestamp(of event: PushEvent, version: Int64, generation: Int64, planned: Int64) -> Int64 {
        switch event {
        case .start: timestamp(ofStart: generation, planned: planned)
        case .update: timestamp(of: version, planned: planned)
        case .end: timestamp(ofEnd: version, planned: planned)
        }
    }

    /// Returns the timestamp of an update for the recipient's phones: the planned one, but above those of older sends
    /// and below those of newer sends. The planner does not know which recipients the sends to named activities have
    /// reached.
    func timestamp(of version: Int64, planned: Int64) -> Int64 {
        if let own, own.timestampVersion == version { return own.timestamp }
        let highestOlder = lastTimestamps.lazy.filter { $0.version < version }.map { $0.timestamp }.max() ?? 0
        let lowestNewer =
            lastTimestamps.lazy.filter { $0.version > version }.map { $0.timestamp }.min() ?? Int64.max
        return min(max(planned, highestOlder + 1), lowestNewer - 1)
    }

    /// Returns the timestamp of a start. It is above the pushes of the generation before, with room for the END of that
    /// generation, which may come later.
    func timestamp(ofStart generation: Int64, planned: Int64) -> Int64 {
        guard let own else { return planned }
        let known = own.generation >= generation ? own.generationTimestamp : 0
        // The END of the generation before takes the first second above its last timestamp, and this start the next
        // one.
        let withRoom = own.timestampVersion < generation ? own.timestamp + 2 : 0
        return max(planned, max(known, withRoom))
    }

    /// Returns the timestamp of an END. It is above all pushes of its generation, also above newer updates that have
    /// reached the phone before it. It stays below the start of a later generation, because it must not end that one.
    func timestamp(ofEnd version: Int64, planned: Int64) -> Int64 {
        if let own, own.timestampVersion == version { return own.timestamp }
        let scopes = own.map { [whole, $0] } ?? [whole]
        let isReopened = scopes.contains { $0.generation > version }
        var timestamp = planned
        for scope in scopes {
            let isOlder = scope.timestampVersion < version
            if isOlder || !isReopened && scope.timestampVersion > version {
                timestamp = max(timestamp, scope.timestamp + 1)
            }
            if scope.generation > version { timestamp = max(timestamp, scope.generationTimestamp - 1) }
        }
        return timestamp
    }

    /// The newest timestamps of the group and of the recipient, each with the version of its send.
    private var lastTimestamps: [(version: Int64, timestamp: Int64)] {
        var last = [(version: whole.timestampVersion, timestamp: whole.timestamp)]
        if let own { last.append((own.timestampVersion, own.timestamp)) }
        return last
    }
}

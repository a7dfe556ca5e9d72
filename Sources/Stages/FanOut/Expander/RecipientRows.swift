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
            let life = self.generation(joinedBy: generation, with: .start)
            return whole.endVersion > generation || hasEndedAlone(since: life) ? .overtakenStart : .start
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

    /// Returns the timestamp of an END. Newer updates may have reached the phone before it, and a phone ignores older
    /// timestamps, so the END gets the highest version. It stays below later starts, because it must not end them.
    func timestamp(ofEnd version: Int64) -> Int64 {
        let laterStarts = [whole.generation, own?.generation ?? 0].filter { $0 > version }
        let latest = laterStarts.min().map { $0 - 1 } ?? Int64.max
        return max(version, min(latest, max(whole.version, own?.version ?? 0)))
    }
}

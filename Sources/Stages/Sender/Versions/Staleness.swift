internal import Jobs
internal import Payloads
internal import Sends

/// The reason why a job must not be sent any more, as its receipt names it.
enum Staleness: String, Sendable {
    /// A newer update exists.
    case newer = "newer_version"
    /// A newer END exists.
    case ended
    /// The send was cancelled.
    case cancelled
}

extension NewestGroupVersions {
    /// Returns the reason why jobs of a sheet must not be sent any more; nil if they may be sent.
    ///
    /// An END is never dropped. A start is dropped only by an END or by the cancellation of its send. An update to a
    /// whole group is dropped by a newer version too, if its send allows that.
    func staleness(of head: SheetHead, group: Fingerprint?) -> Staleness? {
        // Not even the cancellation of its send drops an END.
        if head.event == .end { return nil }
        if isCancelled(head) { return .cancelled }
        guard let group, let known = versions(of: group) else { return nil }
        switch head.event {
        case .end: return nil
        case .start: return known.end > head.version ? .ended : nil
        case .update:
            guard head.scope == .group, head.isConflatable else { return nil }
            if known.end > head.version { return .ended }
            return known.update > head.version ? .newer : nil
        }
    }
}

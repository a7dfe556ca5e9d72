internal import Jobs

extension TimelinePush {
    /// Returns the result of the push, in words that follow its version, for example "was accepted by APNs". The text
    /// names APNs only if APNs answered. Any other result is a decision of the sender, with the sender's reason.
    ///
    /// - Parameter now: Milliseconds since 1970.
    func outcomeText(at now: Int64) -> String {
        switch outcome {
        case .accepted: return "was accepted by APNs"
        case .rejected:
            guard let status else { return "was not sent, because Flotilla refused it\(reasonText)" }
            return "was rejected by APNs with \(status)\(reasonText)"
        case .superseded: return supersededText
        case .expired: return "was given up, because its deadline passed before APNs accepted it\(reasonText)"
        case .unknown: return "may have been sent: its outcome is unknown\(reasonText)"
        case .moved: return movedText(at: now)
        case .intent:
            return isOverdue(at: now)
                ? "was about to be sent at \(PhoneDiagnosis.time(at)), and no outcome is known"
                : "is being sent"
        case .released: return "was not sent by its first sender"
        }
    }

    /// Returns the result of the push for programs, if it is a push of the newest version.
    func reasonCode(at now: Int64) -> DisplayReason.Code {
        switch outcome {
        case .accepted: .showsNewest
        case .rejected: .refused
        case .superseded: .superseded
        case .expired: .expired
        case .unknown: .unknownOutcome
        case .moved: .waitsForRetry
        case .intent, .released: isOverdue(at: now) ? .unknownOutcome : .onItsWay
        }
    }

    private var reasonText: String { reason.map { " (\($0))" } ?? "" }

    /// Whether the receipt is so old that its push must have ended.
    private func isOverdue(at now: Int64) -> Bool {
        now - max(at, dueAt ?? 0) > PhoneDiagnosis.missingAfterMilliseconds
    }

    /// The text of a push that the sender has dropped. The reasons are those of the sender.
    private var supersededText: String {
        switch reason {
        case nil, "newer_version": "was dropped before it left, because a newer version replaced it"
        case "ended": "was dropped before it left, because the group ended"
        case "cancelled": "was dropped before it left, because its send was cancelled"
        case "erased": "was dropped before it left, because the user was erased"
        case let other?: "was dropped before it left (\(other))"
        }
    }

    /// The text of a push that APNs has not accepted yet, and that the sender will push again.
    private func movedText(at now: Int64) -> String {
        let time = PhoneDiagnosis.time(at)
        let start =
            if let status { "was answered \(status)\(reasonText) at \(time)" } else {
                "could not leave at \(time)\(reasonText)"
            }
        let dueText = dueAt.map { " at \(PhoneDiagnosis.time($0))" } ?? ""
        return isOverdue(at: now)
            ? "\(start), and no outcome is known since" : "\(start) and will be pushed again\(dueText)"
    }
}

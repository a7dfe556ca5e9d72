internal import Jobs

extension TimelinePush {
    /// The result of the push, in words that follow its version, for example "was accepted by APNs".
    var outcomeText: String {
        let reasonText = reason.map { " (\($0))" } ?? ""
        switch outcome {
        case .accepted: return "was accepted by APNs"
        case .rejected:
            return "was rejected by APNs with \(status.map(String.init) ?? "no status")\(reasonText)"
        case .superseded:
            return reason == nil ? "was superseded by a newer one" : "was superseded\(reasonText)"
        case .expired: return "expired before it was sent"
        case .unknown: return "was sent with an unknown outcome\(reasonText)"
        case .moved:
            let dueText = dueAt.map { " at \(PhoneDiagnosis.time($0))" } ?? ""
            return
                "was answered \(status.map(String.init) ?? "nothing")\(reasonText) at \(PhoneDiagnosis.time(at)) and will be pushed again\(dueText)"
        case .intent: return "is being sent"
        case .released: return "was not sent yet"
        }
    }

    /// The result of the push for programs, if it is a push of the newest version.
    var reasonCode: DisplayReason.Code {
        switch outcome {
        case .accepted: .showsNewest
        case .rejected: .refused
        case .superseded: .superseded
        case .expired: .expired
        case .unknown: .unknownOutcome
        case .moved: .waitsForRetry
        case .intent, .released: .onItsWay
        }
    }
}

internal import Jobs

extension TimelinePush {
    /// The result of the push, in words that follow its version.
    var outcomeText: String {
        let because = reason.map { " (\($0))" } ?? ""
        switch outcome {
        case .accepted: return "was accepted by APNs"
        case .rejected:
            return "was rejected by APNs with \(status.map(String.init) ?? "no status")\(because)"
        case .superseded:
            return reason == nil ? "was superseded by a newer one" : "was superseded\(because)"
        case .expired: return "expired before it was sent"
        case .unknown: return "was sent with an unknown outcome\(because)"
        case .moved:
            let due = dueAt.map { " at \(PhoneDiagnosis.time($0))" } ?? ""
            return
                "was answered \(status.map(String.init) ?? "nothing")\(because) at \(PhoneDiagnosis.time(at)) and will be pushed again\(due)"
        case .intent: return "is being sent"
        case .released: return "was not sent yet"
        }
    }

    var reasonCode: DisplayReason.Code {
        switch outcome {
        case .accepted: .showsNewest
        case .rejected: .refused
        case .superseded: .superseded
        case .expired: .expired
        case .unknown: .unknownOutcome
        case .moved: .waitsAgain
        case .intent, .released: .onItsWay
        }
    }
}

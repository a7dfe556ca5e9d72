internal import Identifiers

/// A reason why pushes do not reach an installation or one of its tokens, for people who examine one phone.
package struct DeliveryProblem: Sendable, Hashable {
    /// A stable code, for programs.
    package enum Code: String, Sendable, CaseIterable {
        case nothingReported = "nothing_reported"
        case switchedOff = "switched_off"
        case system
        case unregistered
        case refused
        case takenOver = "taken_over"
        case otherEnvironment = "other_environment"
        case noToken = "no_token"
        case ended
        case dismissed
        case notRunning = "not_running"
        case expired
    }

    /// The affected start token or activity, or nil if the reason applies to the whole installation.
    package var entry: RegistryKey.Entry?
    package var code: Code
    /// The reason and, if there is one, the remedy.
    package var explanation: String
}

extension Installation {
    /// All problems, in the order in which a person checks: the phone, then its start tokens, then its
    /// activities. A user's record has none, because no push goes to it.
    package var deliveryProblems: [DeliveryProblem] {
        guard case .installation = subject else { return [] }
        var problems = phoneProblems
        for start in startTokens {
            guard let (code, explanation) = problem(of: start) else { continue }
            problems.append(
                DeliveryProblem(entry: .start(type: start.type), code: code, explanation: explanation))
        }
        for activity in activities {
            guard let (code, explanation) = problem(of: activity) else { continue }
            problems.append(
                DeliveryProblem(entry: .update(activity: activity.id), code: code, explanation: explanation))
        }
        return problems
    }

    private var phoneProblems: [DeliveryProblem] {
        var problems: [DeliveryProblem] = []
        if startTokens.isEmpty, activities.isEmpty {
            problems.append(
                DeliveryProblem(
                    code: .nothingReported,
                    explanation: "no token has been reported; the SDK sends startToken and updateToken"))
        }
        if activitiesEnabled?.value == false {
            problems.append(
                DeliveryProblem(
                    code: .switchedOff,
                    explanation:
                        "the person has switched Live Activities off for the app, in the phone's settings"))
        }
        if let os = os?.value, let version = OSVersion(os), version < OSVersion.pushToStart {
            problems.append(
                DeliveryProblem(
                    code: .system,
                    explanation: "iOS \(os) cannot start activities by push; this needs iOS 17.2"
                ))
        }
        return problems
    }

    private func problem(of start: StartToken) -> (DeliveryProblem.Code, String)? {
        if isUsable(start) { return nil }
        guard let token = start.token else {
            return start.unregisteredAt == nil
                ? (.noToken, "no token has been reported") : (.unregistered, Self.unregisteredExplanation)
        }
        if let unregisteredAt = start.unregisteredAt, token.at <= unregisteredAt {
            return (.unregistered, Self.unregisteredExplanation)
        }
        return problem(of: token)
    }

    private func problem(of activity: Activity) -> (DeliveryProblem.Code, String)? {
        switch endCause(of: activity) {
        case .ended: return (.ended, "the phone reported that it has ended")
        case .dismissed: return (.dismissed, "the person has removed it from the lock screen")
        case .unregistered: return (.unregistered, Self.unregisteredExplanation)
        case .notRunning:
            return (.notRunning, "the phone listed its running activities, and this one was missing")
        case nil: break
        }
        if activity.isExpired {
            return (.expired, "no report about it arrived within its token's lifetime (updateTokenTtl)")
        }
        guard let token = activity.token else {
            return (.noToken, "no update token has been reported; the phone may need a few seconds")
        }
        return isUsable(token) ? nil : problem(of: token)
    }

    /// Returns the problem of a token that is not usable.
    private func problem(of token: Token) -> (DeliveryProblem.Code, String) {
        if let environment = environment?.value, token.environment != environment {
            return (
                .otherEnvironment,
                "the token is for \(token.environment.rawValue), but the app on the phone now uses \(environment.rawValue)"
            )
        }
        if token.isTakenOver {
            return (
                .takenOver,
                "another installation has reported the same token later; the phone gets pushes as that one"
            )
        }
        return (.refused, "APNs has refused the token; the phone must report a new one")
    }

    private static let unregisteredExplanation =
        "the app has unregistered the type on this phone; a token that is reported later is used again"
}

package import Identifiers
package import InstallationRecords

/// The decision which installation owns a start token that several installations have reported. The installation with the
/// newest report owns it. The others lose it, so that a phone starts each activity once.
///
/// The installations of a phone can be in different partitions, for example after the app lost its installation id, and no
/// partition knows the tokens of all. So each token has a partition of its own. An installation that reports a new
/// token claims it there, with a report of the kind `tokenOwner`. That partition keeps the owner as a row of
/// `installations`, and tells the loser with a report of the kind `tokenTakenOver`. All of these reports can be repeated.
///
/// An installation that is told about an older report than its own claims the token again. So the newest report wins in any
/// order of these reports.
///
/// Within a lane of the registry, `TokenConflicts` decides at once. This decision also covers users in different lanes,
/// after two more reports.
package enum TokenOwner {
    /// The interval in which an installation claims its token again. A claim that arrived too late for an order of
    /// the reports is so corrected.
    static let claimMilliseconds: Int64 = 7 * 86_400_000
    /// The time after its last claim for which the row of an owner is kept.
    static let retentionMilliseconds: Int64 = 400 * 86_400_000
    /// The prefix in the key of a row, in the place of a subject. It sorts behind installations.
    private static let keyPrefix = "t:"

    /// Returns the key of a token's row and of its claims, such as `app/t:production:0f3a…`.
    package static func key(app: String, environment: Environment, tokenHash: String) -> [UInt8] {
        RecordKey.join(app, "\(keyPrefix)\(environment.rawValue):\(tokenHash)")
    }

    /// Whether the row of `installations` with this key is about a token's owner.
    package static func isKey(_ key: [UInt8], ofApp app: String) -> Bool {
        key.starts(with: RecordKey.join(app, keyPrefix))
    }

    /// The result of a claim.
    package struct Decision: Sendable {
        /// The new row, or nil if the row stays as it is.
        package var row: Installation?
        /// The report for the installation that has lost the token, or nil if no other installation has it.
        package var notice: Report?
        /// The arrival of the notice, in milliseconds since 1970: that of the winner's report, so that the winner's time is
        /// not clamped.
        package var noticeReceivedAt: Int64 = 0
    }

    /// Decides a claim.
    ///
    /// - Parameters:
    ///   - claim: A report of the kind `tokenOwner`.
    ///   - time: The time of the report of the token.
    ///   - row: The row of the token's owner, or nil if the token has none.
    package static func decide(_ claim: Report, at time: ReportTime, over row: Installation?) -> Decision {
        guard let claimant = claim.installation, let token = claim.proof,
            case .start(let type) = token.entry, let environment = claim.environment
        else { return Decision() }
        let known = row?.startTokens.first?.token?.at
        let isNewer = known.map { $0 < time } ?? true
        var decision = Decision()
        if isNewer {
            var owned = Installation(app: claim.app, subject: .installation(claimant))
            owned.startTokens = [
                Installation.StartToken(
                    type: type,
                    token: .init(
                        hash: token.tokenHash, sealed: nil, environment: environment, at: time))
            ]
            decision.row = owned
        }
        guard case .installation(let owner)? = row?.subject, owner != claimant, let known else {
            return decision
        }
        var notice = Report(
            app: claim.app, environment: environment, installation: isNewer ? owner : claimant,
            kind: .tokenTakenOver)
        let winner = isNewer ? time : known
        notice.eventTime = winner.event
        decision.noticeReceivedAt = winner.received
        notice.proof = token
        decision.notice = notice
        return decision
    }

    /// Whether the row of an owner is older than its retention.
    static func isExpired(_ row: Installation, at now: Int64) -> Bool {
        guard let time = row.startTokens.first?.token?.at else { return true }
        return time.received < now - retentionMilliseconds
    }
}

/// The claim of a start token by an installation that has reported it.
package struct TokenClaim: Sendable, Hashable {
    let token: Report.TokenProof
    /// The phone's time of the report of the token, in milliseconds since 1970, or nil if it has none.
    let eventTime: Int64?
    /// The arrival of that report. With another one, the phone's time could be clamped, and two installations could claim the
    /// token from each other without an end.
    package let receivedAt: Int64

    /// Returns the claim as a report.
    ///
    /// - Parameter cause: The installation's report that caused the claim.
    package func report(of cause: Report) -> Report? {
        guard let environment = cause.environment, let installation = cause.installation else { return nil }
        var claim = Report(
            app: cause.app, environment: environment, installation: installation, kind: .tokenOwner)
        (claim.proof, claim.eventTime, claim.bodyPosition) = (token, eventTime, cause.bodyPosition)
        return claim
    }
}

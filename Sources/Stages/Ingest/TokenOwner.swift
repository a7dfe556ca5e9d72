package import Identifiers
package import InstallationRecords

/// The decision which installation owns a start token that several installations have reported. The installation with
/// the newest report owns it. The others lose it, so that a phone starts each activity once.
///
/// The installations of a phone can be in different partitions, for example after the app lost its installation id, and
/// no partition knows the tokens of all. So each token belongs to one partition. An installation that reports a new
/// token claims it there (`TokenClaims`). That partition keeps the owner as a row of `installations` (`TokenOwnerRow`),
/// and tells the loser with a report of the kind `tokenTakenOver`. All of these records can be repeated.
///
/// An installation that loses its token to an older report than its own claims the token again. So the newest report
/// wins in any order of these records.
///
/// Within a lane of the registry, `TokenConflicts` decides at once. The decision here also covers users in different
/// lanes. It takes two more records: the claim and the report for the loser.
package enum TokenOwner {
    /// The interval in which an installation claims its token again. Claims may arrive in another order than the
    /// reports, and the next claim corrects the result.
    static let claimMilliseconds: Int64 = 7 * 86_400_000
    /// The time after its last claim for which the row of an owner is kept.
    static let retentionMilliseconds: Int64 = 400 * 86_400_000

    /// The result of a claim.
    package struct Decision: Sendable {
        /// The new row, or nil if the row stays as it is.
        package var row: TokenOwnerRow?
        /// The installation that has lost the token, with the time of the winner's report. Nil if no other installation
        /// has reported the token.
        package var loss: Loss?
    }

    package struct Loss: Sendable {
        let installation: String
        let winnerTime: ReportTime

        /// Returns the report for the installation that has lost the token.
        package func report(ofToken tokenHash: String, app: String, environment: Environment) -> Report {
            var report = Report(
                app: app, environment: environment, installation: installation, kind: .tokenTakenOver)
            report.eventTime = winnerTime.event
            report.proof = Report.TokenProof(tokenHash: tokenHash, entry: .start(type: nil))
            return report
        }

        /// The arrival time of the report for the loser, in milliseconds since 1970. It is the arrival time of the
        /// winner's report, so that the winner's time is not clamped.
        package var receivedAt: Int64 { winnerTime.received }
    }

    /// Decides a claim.
    ///
    /// - Parameter row: The row of the token's owner, or nil if the token has none.
    package static func decide(_ claim: TokenClaims.Claim, app: String, over row: TokenOwnerRow?) -> Decision
    {
        let isNewer = row.map { $0.at < claim.at } ?? true
        var decision = Decision()
        if isNewer { decision.row = TokenOwnerRow(app: app, installation: claim.installation, at: claim.at) }
        guard let row, row.installation != claim.installation else { return decision }
        decision.loss =
            isNewer
            ? Loss(installation: row.installation, winnerTime: claim.at)
            : Loss(installation: claim.installation, winnerTime: row.at)
        return decision
    }

    /// Whether the row of an owner is older than its retention.
    static func isExpired(_ row: TokenOwnerRow, at now: Int64) -> Bool {
        row.at.received < now - retentionMilliseconds
    }
}

/// The claim of a start token by the installation of a report.
package struct TokenClaim: Sendable, Hashable {
    package let tokenHash: String
    package let environment: Environment
    /// The time of the report of the token. With another time, the phone's time could be clamped, and two installations
    /// could claim the token from each other without an end.
    package let at: ReportTime
}

internal import Identifiers
internal import InstallationRecords

// Reports about tokens that no phone sends: APNs has refused a token, or has accepted it for the first time, or another
// installation has it now.

extension ReportMerger {
    /// Notes that APNs has refused a token, so that no registry row offers it again.
    func mergeTokenRefusal(from report: Report, into context: inout MergeContext)
        throws(RejectedReport)
    {
        guard let refusal = report.refusal else { throw RejectedReport.missing(field: "tokenHash") }
        // The clock of APNs may be behind ours by the grace. If APNs gave no time, the time of the dispatch counts,
        // because a token that was reported after the dispatch was not refused.
        let claimedTime =
            refusal.invalidatedAt.map { $0 + Retention.refusalGraceMilliseconds }
            ?? refusal.dispatchedAt
        // A refusal lies at most the grace in the future. Otherwise a wrong clock or unit would disable the token for
        // ever.
        let refusedAt = min(claimedTime, context.time.received + Retention.refusalGraceMilliseconds)
        if let erasedAt = context.installation.erasedUpTo, refusedAt < erasedAt.event { return }
        if let knownIndex = context.installation.refusedTokens.firstIndex(where: {
            $0.hash == refusal.tokenHash
        }) {
            guard context.installation.refusedTokens[knownIndex].at < refusedAt else { return }
            context.installation.refusedTokens[knownIndex].at = refusedAt
        } else {
            context.installation.refusedTokens.append(.init(hash: refusal.tokenHash, at: refusedAt))
        }
        context.affectedRows.insertAll()
        context.markChanged()
    }

    /// Notes that APNs has accepted a token. A proof of a token that is no longer known changes nothing, so it never
    /// creates an installation.
    func mergeTokenProof(from report: Report, into context: inout MergeContext) throws(RejectedReport) {
        guard let proof = report.proof else { throw RejectedReport.missing(field: "tokenHash") }
        func isNewlyProven(_ token: Installation.Token?) -> Bool {
            token?.isUnproven == true && token?.hash == proof.tokenHash
                && token?.environment == report.environment
        }
        switch proof.entry {
        case .start(let type):
            for index in context.installation.startTokens.indices
            where context.installation.startTokens[index].type.isExactlyEqual(to: type)
                && isNewlyProven(context.installation.startTokens[index].token)
            {
                context.installation.startTokens[index].token?.isUnproven = false
                context.affectedRows.insertStartToken(at: index)
                context.markChanged()
            }
        case .update(let id):
            for index in context.installation.activities.indices
            where context.installation.activities[index].id.isExactlyEqual(to: id)
                && isNewlyProven(context.installation.activities[index].token)
            {
                context.installation.activities[index].token?.isUnproven = false
                context.affectedRows.insertActivity(at: index)
                context.markChanged()
            }
        case .profile: break
        }
    }

    /// Notes that another installation has reported the same start token later. The time of the report is the
    /// time at which that installation reported the token. If this installation has reported the token even
    /// later, it keeps the token and claims it.
    func mergeTakenOverToken(from report: Report, into context: inout MergeContext) throws(RejectedReport) {
        guard let lostToken = report.proof else { throw RejectedReport.missing(field: "tokenHash") }
        for index in context.installation.startTokens.indices {
            guard var token = context.installation.startTokens[index].token, token.sealed != nil,
                token.hash == lostToken.tokenHash, token.environment == report.environment
            else { continue }
            // A report without a change sends no claim, so it counts as a change in any case.
            context.markChanged()
            if token.at.event > context.time.event {
                context.claim = TokenClaim(
                    tokenHash: token.hash, environment: token.environment, at: token.at)
                continue
            }
            (token.sealed, token.isTakenOver) = (nil, true)
            context.installation.startTokens[index].token = token
            context.affectedRows.insertStartToken(at: index)
        }
    }
}

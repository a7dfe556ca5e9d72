internal import InstallationRecords
internal import Kafka
internal import RecordFormat
internal import StageSupport
internal import Topics

// The owners of start tokens (`TokenOwner`): claims of installations, and the rows of their tokens.

extension IngestDecider {
    /// Returns the key that a claim has, or nil for any other report.
    func claimKey(of report: Report) -> [UInt8]? {
        guard report.kind == .tokenOwner, let environment = report.environment, let token = report.proof
        else {
            return nil
        }
        return TokenOwner.key(app: report.app, environment: environment, tokenHash: token.tokenHash)
    }

    /// Sends the claim of a token to the token's partition. It is acknowledged before the offset of the report is
    /// committed.
    func send(_ claim: TokenClaim, of report: Report, arrival: ReportArrival) {
        guard let claimReport = claim.report(of: report), let key = claimKey(of: claimReport) else { return }
        forward(
            claimReport, key: key,
            arrival: ReportArrival(receivedAt: claim.receivedAt, offset: arrival.offset))
    }

    /// Decides a claim over the row of the token's owner, and tells the loser.
    func decideOwner(
        of claim: Report, arrival: ReportArrival, entryAt index: Int,
        in installations: inout InstallationBatch
    ) {
        let decision = TokenOwner.decide(
            claim, at: arrival.reportTime(of: claim), over: installations.entries[index].installation)
        if let notice = decision.notice {
            forward(
                notice, key: notice.key,
                arrival: ReportArrival(receivedAt: decision.noticeReceivedAt, offset: arrival.offset))
        }
        outcomeCounts.claims += 1
        guard let row = decision.row else { return }
        _ = apply(
            MergedInstallation(installation: row, changes: [], events: [], mustBeWritten: true),
            toEntryAt: index, in: &installations)
    }

    private func forward(_ report: Report, key: [UInt8], arrival: ReportArrival) {
        let partition = Murmur2.partition(forKey: key.span, partitionCount: stage.layout.lanes)
        forwarder.forward(report.encoded().span, key: key, arrival: arrival, to: Int32(partition))
    }
}

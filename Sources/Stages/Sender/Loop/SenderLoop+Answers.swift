internal import APNs
internal import Identifiers
internal import InstallationRecords
internal import Jobs
internal import Lifecycle
internal import RecordFormat
internal import Telemetry
internal import TokenSealing

// The answers of APNs, and the reports of tokens that follow from them.
extension SenderLoop {
    /// Passes the ends of pushes to the plan, and runs it.
    func handleOutcomes(_ outcomes: PushOutcomes) {
        guard !hasEnded else { return }
        let time = time
        for outcome in outcomes.list {
            if outcome.disposition == .accepted, !outcome.isLate {
                plan.accepted(outcome.tag, at: time)
            } else {
                plan.ended(outcome.tag, as: answer(to: outcome, in: outcomes), at: time)
            }
        }
        // Pushes that leave in this step are written to the connections together with the client's other bytes.
        do { try runStep() } catch { return end(with: error) }
        setTimer()
    }

    private func answer(to outcome: PushOutcome, in outcomes: PushOutcomes) -> PushAnswer {
        guard outcome.end == .answered, let disposition = outcome.disposition else {
            return PushAnswer(outcome.end, isLate: outcome.isLate)
        }
        let details = outcomes.details(of: outcome)
        return PushAnswer(
            answered: disposition, status: Int(outcome.status), reason: details?.response.reasonText,
            timestamp: details?.response.timestamp, retryAfterSeconds: details?.retryAfterSeconds,
            isLate: outcome.isLate)
    }

    // MARK: Dead and proven tokens

    /// Reports a dead token. Ingest removes the token, unless the phone has reported it again since.
    func report(_ dead: DeliveryActions.DeadToken) {
        let (sheet, fields) = (dead.sheet, dead.sheet.index.lines[dead.line])
        guard !sheet.head.isBroadcast, let token = token(of: sheet, line: dead.line) else { return }
        var report = Report(
            app: sheet.head.app, environment: sheet.head.environment,
            installation: sheet.text(fields.installation), kind: .deadToken)
        report.refusal = Maybe(
            Report.TokenRefusal(
                tokenHash: Hex.text(of: seal.hash(of: token)), entry: sheet.text(fields.entry),
                reason: dead.reason, invalidatedAt: dead.invalidatedAt,
                dispatchedAt: time.unixMilliseconds))
        writer.report(report)
        metrics.deadTokens.add()
    }

    /// Reports a token that APNs has accepted for the first time. From then on the registry calls it proven.
    func report(_ proven: DeliveryActions.ProvenToken) {
        let (sheet, fields) = (proven.sheet, proven.sheet.index.lines[proven.line])
        guard let token = token(of: sheet, line: proven.line),
            let entry = RegistryKey.Entry(text: sheet.text(fields.entry))
        else { return }
        var report = Report(
            app: sheet.head.app, environment: sheet.head.environment,
            installation: sheet.text(fields.installation), kind: .provenToken)
        report.proof = Maybe(
            Report.TokenProof(tokenHash: Hex.text(of: seal.hash(of: token)), entry: entry))
        writer.report(report)
        metrics.provenTokens.add()
    }
}

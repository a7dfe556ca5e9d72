internal import Catalog
internal import HTTPServer
internal import Lifecycle
internal import StageSupport
internal import Telemetry

// Batches of sends. Each send becomes a separate request, with its decision, its records and its answer.

extension RequestProcessor {
    /// A batch that this gateway has taken over and must answer.
    struct PendingBatch: Sendable {
        let authorized: AuthorizedRequest
        let decide: RequestWorker.Decide
        let receivedAt: Instant
    }

    /// Splits a batch, charges its sends, and decides each of them.
    func process(_ batch: PendingBatch) {
        let (authorized, bodyBytes) = (batch.authorized, batch.authorized.request.body.count)
        func refuse(with response: HTTPResponse) {
            pendingLimit.release(bytes: bodyBytes)
            metrics.countRequest(kind: .send, outcome: .refused)
            authorized.reply.send(response)
        }
        guard let catalog = environment.catalog else { return refuse(with: Unavailable.notReady) }
        let access = currentAccess(of: authorized.caller, in: catalog)
        guard case .granted(_, let app) = access else {
            // There is always a refusal, because the access is not granted.
            let refusal = APIKeyHeader.refusal(for: access)?.response
            return refuse(with: refusal ?? Unavailable.unstored)
        }
        let context = makeContext(
            for: RequestInput(authorized.request), of: authorized.caller, app: app, catalog: catalog,
            reader: batchReader)
        let inputs: [RequestInput]
        do throws(RefusedRequest) {
            inputs = try SendBatchBody.inputs(in: context, requestID: authorized.request.id)
        } catch {
            return refuse(with: error.response)
        }
        // The batch's own request is charged and reserved already. It counts as the first send.
        let furtherCount = inputs.count - 1
        let charge = rates.chargeFurtherSends(of: authorized.caller, count: furtherCount)
        if let exceeded = charge.exceeded {
            metrics.countLimited(by: exceeded.limit)
            return refuse(with: Unavailable.limited(by: exceeded, quota: charge.quota))
        }
        guard pendingLimit.reserve(requests: furtherCount, bytes: 0) else {
            metrics.turnedAwayRequests.add()
            return refuse(with: Unavailable.overloaded)
        }
        let sends = SendBatch(
            count: inputs.count, reply: authorized.reply, limitHeaders: charge.quota.headers,
            bodyBytes: bodyBytes, pendingLimit: pendingLimit)
        for (index, input) in inputs.enumerated() {
            process(
                PendingRequest(
                    caller: authorized.caller, input: input, kind: .send, decide: batch.decide,
                    receivedAt: batch.receivedAt, answer: .batch(sends, index: index)))
        }
    }
}

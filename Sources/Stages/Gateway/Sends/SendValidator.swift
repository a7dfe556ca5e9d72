internal import Catalog
internal import CatalogRecords
internal import Sends
internal import Telemetry

/// The checks that turn a draft into a send, or report every problem of the draft. It does no I/O.
///
/// It resolves everything that depends on the catalog, so that later stages can act on the send without it.
struct SendValidator {
    /// The largest distance of an activity's end date from now. One activity lives for eight hours, but a
    /// group may outlive several activities.
    static let endDateSecondsMax: Int64 = 30 * 86_400
    /// The largest distance of a deadline from now. Jobs are kept for a day, so a later deadline cannot be
    /// honored.
    static let deadlineSecondsMax: Int64 = 20 * 3600

    let app: App
    let catalog: CatalogSnapshot
    let now: WallTime
    let fields: SendFields
    let lanes: Int

    struct ValidatedSend {
        var send: Send
        let scopeKey: ScopeKey
        /// The size of the APNs payload.
        let payloadByteCount: Int
        let warnings: [RequestProblem]
    }

    /// Returns the send, or throws every problem of the draft.
    ///
    /// - Parameter readingProblems: The problems that were found while the draft was read. If one of them concerns a
    ///   field, no other problem of that field is reported.
    func validate(
        _ draft: SendDraft, afterReading readingProblems: [RequestProblem]
    ) throws(RefusedRequest) -> ValidatedSend {
        // If the draft names something unknown, its content is not known either and cannot be checked.
        if draft.problems.contains(where: \.isUnknown) {
            throw RefusedRequest(readingProblems + draft.problems)
        }
        // The answer lists the problems in the order of these steps.
        var validation = SendValidation(validator: self, draft: draft, readingProblems: readingProblems)
        let type = validation.activityType()
        let owner = validation.owner(for: type)
        let send = validation.makeSend(type: type, owner: owner)
        validation.checkSegments()
        validation.checkDates()
        validation.checkOptions()
        let byteCount = validation.checkPayload(for: type)
        guard validation.problems.isEmpty, let send, let key = send.scopeKey else {
            // A send without a key has a problem, so this fallback only keeps the error non-empty.
            throw RefusedRequest(
                validation.problems.isEmpty
                    ? [RequestProblem(code: "invalid", at: "", message: "names no group")]
                    : validation.problems)
        }
        return ValidatedSend(
            send: send, scopeKey: key, payloadByteCount: byteCount, warnings: validation.warnings(for: type))
    }
}

internal import Catalog
internal import CatalogRecords
internal import Sends
internal import Telemetry

/// Turns a draft into a send, or refuses it with every problem. Later stages act on the send without the catalog, so
/// everything that depends on the catalog is resolved here. `SendValidation` has the single checks. They do no I/O.
struct SendValidator {
    /// A send without problems. It has no id yet.
    struct ValidatedSend {
        var send: Send
        /// The record key of the send: its group, or its activity without a group.
        let scopeKey: ScopeKey
        /// The size of the APNs payload.
        let payloadByteCount: Int
        let warnings: [RequestProblem]
    }

    /// The largest distance of an activity's end date from the time at which the send leaves. One activity lives for eight
    /// hours, but a group may outlive several activities.
    static let endDateSecondsMax: Int64 = 30 * 86_400
    /// The largest distance of a deadline from the time at which the send leaves. Jobs are kept for a day, so a later
    /// deadline cannot be honored.
    static let deadlineSecondsMax: Int64 = 20 * 3600

    let app: App
    let catalog: CatalogSnapshot
    let now: WallTime
    /// The names of the fields in the body, for the problems.
    let fields: SendFields
    /// The number of lanes. It limits the activities that one send may name.
    let lanes: Int

    /// Returns the send, or throws every problem of the draft.
    ///
    /// - Parameter readingProblems: The problems of the JSON reader. If one of them concerns a field, no other problem
    ///   of that field is reported.
    func validate(
        _ draft: SendDraft, afterReading readingProblems: [RequestProblem]
    ) throws(RefusedRequest) -> ValidatedSend {
        // If the draft names an unknown definition, its content is not known either and cannot be checked.
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
        if !validation.problems.isEmpty { throw RefusedRequest(validation.problems) }
        guard let send, let key = send.scopeKey else {
            // Never reached, because a send without a key has a problem (`checkSend`).
            throw RefusedRequest([RequestProblem(code: "invalid", at: "", message: "names no group")])
        }
        return ValidatedSend(
            send: send, scopeKey: key, payloadByteCount: byteCount, warnings: validation.warnings(for: type))
    }
}

internal import HTTPClient
internal import JSON
internal import RecordFormat

/// The answer of the insight stage to the query where a send is: the send's time of acceptance, if the stage has a
/// record of it, and the time up to which the stage has read all records. Times are milliseconds since 1970.
struct SendLocation: Hashable {
    var acceptedAt: Int64?
    /// Nil if the stage does not know it for all lanes.
    var asOf: Int64?

    init(acceptedAt: Int64?, asOf: Int64?) { (self.acceptedAt, self.asOf) = (acceptedAt, asOf) }

    /// Returns nil if the answer is an error, or cannot be read.
    init?(_ answer: HTTPClientResponse) {
        guard answer.status == 200, let body = answer.body,
            let location = try? JSONReader().read(
                body,
                decode: { root in
                    let object = root.object()
                    let isPartial = object["partial"].optional != nil
                    return SendLocation(
                        acceptedAt: object["acceptedAt"].optional?.timeMilliseconds(),
                        asOf: isPartial ? nil : object["asOf"].optional?.timeMilliseconds())
                })
        else { return nil }
        self = location
    }

    var searchStart: SearchStart {
        if let acceptedAt { return .accepted(at: acceptedAt) }
        return asOf.map { .notBefore($0) } ?? .backwardsFromEnd
    }
}

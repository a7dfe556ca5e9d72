internal import HTTPServer
internal import Lifecycle

extension RequestProcessor {
    /// A request that this gateway has taken over and must answer.
    struct PendingRequest: Sendable {
        let authorized: AuthorizedRequest
        let kind: RequestKind
        let decide: RequestWorker.Decide
        let receivedAt: Instant
        /// Whether the catalog was read to its end for this request.
        var hasReadCatalog = false
    }

    /// The step of a request that follows when its records in flight are stored.
    enum NextStep: Sendable {
        case answer(HTTPResponse)
        case storeCatalogChange(OutgoingRecord, HTTPResponse)
        /// This gateway reads the stored change before the answer, so that the caller's next request knows it.
        case readCatalogChange(HTTPResponse)
        /// The name identifies the request in the reply of the other stage, which is awaited for this time.
        case awaitReply(name: String, milliseconds: Int)
    }

    /// The reason for records that are in flight to Kafka.
    enum PendingEntry: Sendable {
        case request(PendingRequest, then: NextStep)
        /// The start record of this gateway. Its broker's timestamp gives the cluster's time.
        case start
    }
}

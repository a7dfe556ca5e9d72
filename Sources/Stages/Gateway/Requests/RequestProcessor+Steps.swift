internal import HTTPServer
internal import Lifecycle

extension RequestProcessor {
    /// A request that this gateway has taken over and must answer: a whole HTTP request, or one send of a batch.
    struct PendingRequest: Sendable {
        let caller: RequestCaller
        let input: RequestInput
        let kind: RequestKind
        let decide: RequestWorker.Decide
        let receivedAt: Instant
        let answer: AnswerTarget
        /// Whether the catalog was read to its end for this request.
        var hasReadCatalog = false
    }

    /// The destination of a request's answer.
    enum AnswerTarget: Sendable {
        /// The client of an HTTP request whose body has this size.
        case client(HTTPReply, bodyBytes: Int)
        /// The answer to a batch of sends, at this index.
        case batch(SendBatch, index: Int)
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

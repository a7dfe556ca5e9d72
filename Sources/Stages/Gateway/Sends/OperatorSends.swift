package import Catalog
internal import CatalogRecords
internal import HTTPServer
internal import JSON
package import Kafka
internal import Sends
package import Telemetry
internal import TokenSealing
package import Topics

/// The sends and cancels of an operator on the command line. They are written to Kafka directly, without a gateway
/// and without an API key, but by the same rules and with the same audit. The calls block.
package struct OperatorSends {
    /// A send that is stored in Kafka.
    package struct AcceptedSend {
        package let id: String
        /// The answer of `POST /v1/sends`.
        package let answer: [UInt8]
    }

    let settings: KafkaSettings
    let layout: TopicLayout
    let metrics: Metrics
    private let producer: Producer
    private let catalog: CatalogSnapshot
    /// The operator's name in the audit.
    private let author: String

    package init(
        settings: KafkaSettings, layout: TopicLayout, catalog: CatalogSnapshot, author: String,
        metrics: Metrics
    ) throws {
        producer = try Producer(settings: settings, name: "send", log: .silent, metrics: metrics)
        self.settings = settings
        self.layout = layout
        self.metrics = metrics
        self.catalog = catalog
        self.author = author
    }

    /// Stores a send and returns its id.
    ///
    /// - Parameter body: The body of `POST /v1/sends`.
    package func send(
        _ body: [UInt8], of app: String, idempotencyKey: String? = nil, now: WallTime
    ) throws -> AcceptedSend {
        let decider = SendDecider(route: "/v1/sends", fields: .standard, lanes: layout.lanes) {
            root, context in
            SendBody.draft(from: root, now: context.now)
        }
        var headers: HTTPHeaders = [:]
        if let idempotencyKey { headers.add("Idempotency-Key", value: idempotencyKey) }
        let context = try makeContext(body: body, of: app, headers: headers, now: now)
        let response: HTTPResponse
        switch try decider.decide(in: context) {
        case .store(let records, let answer):
            try store(records)
            response = answer
        case .askStage(let request): response = try askStage(request)
        case .answer, .readCatalog, .changeCatalog:
            preconditionFailure("a send is stored, or waits for the planner or the scheduler")
        }
        let id = try JSONReader().read(response.body) { $0.object()["sendId"].string() }
        return AcceptedSend(id: id, answer: response.body)
    }

    /// Cancels a send.
    ///
    /// - Parameter found: The send as `SendLookup` has found it.
    package func cancel(_ id: SendID, of app: String, found: FoundSend, now: WallTime) throws {
        // The records of a send that was found name its scope.
        guard let scope = found.progress.key else { return }
        try store(
            SendDecider.cancelRecords(
                of: id, key: scope, recipient: found.progress.recipient, timer: found.timerOwner,
                in: makeContext(of: app, now: now)))
    }

    /// Makes the context of an operator's request. Throws if the catalog does not have the app.
    func makeContext(
        body: [UInt8] = [], of app: String, headers: HTTPHeaders = [:],
        query: [(name: String, value: String)] = [], now: WallTime
    ) throws -> RequestContext {
        guard let knownApp = catalog.apps[app] else {
            throw RefusedRequest([
                RequestProblem(
                    code: "app_unknown", at: "app", message: "is unknown; `flotilla apps` lists the apps")
            ])
        }
        return RequestContext(
            body: body, headers: headers, query: query, role: .send,
            userProofs: UserProofCheck(seal: TokenSeal(keys: nil)), author: author,
            address: nil, app: knownApp, catalog: catalog, now: now,
            reader: JSONReader(
                limits: JSONLimits(
                    bytesMax: GatewayLimits.sendBytesMax, depthMax: GatewayLimits.depthMax,
                    keysMax: GatewayLimits.sendFieldsMax)))
    }

    /// Stores the records one after the other, each with the acknowledgement of all in-sync replicas.
    func store(_ records: [OutgoingRecord]) throws {
        for record in records {
            let topic = try producer.topic(named: layout.name(of: record.destination.topic))
            _ = try producer.storeRecord(
                action: "write to \(topic.name)", in: topic, key: record.key, value: record.value)
        }
    }
}

internal import Catalog
internal import CatalogRecords
internal import Identifiers
internal import JSON
internal import Lifecycle
internal import Settings
internal import Telemetry
internal import TokenSealing
internal import Topics
internal import Webhooks

/// One call of `flotilla webhooks`.
struct WebhooksCall {
    enum Verb: String, CaseIterable {
        case list, show, create, enable, rotate, replay, test, delete
    }

    let verb: Verb
    private let invocation: Invocation
    private let app: String
    /// The name of the endpoint. Empty for `list`.
    private let name: String
    private let catalog: CatalogAccess

    init(for invocation: Invocation) throws {
        let positionals = invocation.positionals
        guard let verb = positionals.first.flatMap(Verb.init),
            positionals.count == (verb == .list ? 2 : 3)
        else {
            let verbs = Verb.allCases.dropFirst().map(\.rawValue).joined(separator: ", ")
            throw CommandError(
                status: .usage,
                "use list with an app, or one of \(verbs) with an app and the name of an endpoint")
        }
        self.verb = verb
        self.invocation = invocation
        app = positionals[1]
        name = positionals.count > 2 ? positionals[2] : ""
        catalog = try CatalogAccess(settings: invocation.settings)
        _ = try catalog.app(id: app)
    }

    var endpoints: [WebhookEndpoint] {
        catalog.snapshot.webhooks(of: app).values.sorted { $0.name < $1.name }
    }

    func endpoint() throws -> WebhookEndpoint {
        if let endpoint = catalog.snapshot.webhooks(of: app)[name] { return endpoint }
        throw CommandError(
            status: .usage,
            "\(app) has no webhook endpoint \(name); `flotilla webhooks list \(app)` lists them")
    }

    /// Creates an endpoint and prints its secret once.
    func create() throws {
        if let problem = AppIDRules.problem(name) {
            throw CommandError(status: .usage, "the name \(problem)")
        }
        let existing = catalog.snapshot.webhooks(of: app)
        guard existing[name] == nil else {
            throw CommandError(
                status: .usage,
                "the endpoint \(name) exists; delete it first, or change it with PUT /v1/webhooks")
        }
        guard existing.count < WebhookEndpoint.countPerAppMax else {
            throw CommandError(
                status: .usage, "\(app) has \(existing.count) webhook endpoints; delete one first")
        }
        guard let url = invocation.options["--url"].flatMap({ WebhookURL($0) }) else {
            throw CommandError(status: .usage, "name the URL with --url, such as https://example.com/hooks")
        }
        guard url.scheme == .https || invocation.settings[WebhooksSettings.self].allowsHTTP else {
            throw CommandError(
                status: .usage,
                "plain http is not allowed; use https, or set webhooks.allow-http for all processes")
        }
        let secret = WebhookSecret()
        let endpoint = WebhookEndpoint(
            app: app, name: name, url: url.text, types: try types(), secrets: [try seal(secret)],
            createdAt: WallTime.now().milliseconds)
        try write(.put(endpoint, action: "create"))
        show(endpoint, secret: secret)
    }

    /// Lets the stage call an endpoint again that was disabled.
    func enable() throws {
        var endpoint = try endpoint()
        endpoint.disabling = nil
        try write(.put(endpoint, action: "enable"))
        WebhooksOutput([endpoint]).show(for: invocation)
    }

    /// Makes a new secret. The one before it signs for another day.
    func rotate() throws {
        var endpoint = try endpoint()
        let secret = WebhookSecret()
        endpoint.rotate(to: try seal(secret))
        try write(.put(endpoint, action: "rotate"))
        show(endpoint, secret: secret)
    }

    /// Lets the stage send events again.
    func replay() throws {
        var endpoint = try endpoint()
        endpoint.replay = WebhookEndpoint.Replay(
            requestedAt: WallTime.now().milliseconds, start: try replayStart())
        if !invocation.isJSON {
            print("\(app)/\(name) receives these events again, with the same ids, and then all later ones")
        }
        try invocation.confirm(orElse: "nothing is sent again")
        try write(.put(endpoint, action: "replay"))
        WebhooksOutput([endpoint]).show(for: invocation)
    }

    /// Sends a test event from this process. The command fails if the endpoint does not accept it.
    func test() async throws {
        let endpoint = try endpoint()
        let keys = try SealingKeyFile.read(settings: invocation.settings, for: catalog.snapshot)
        let result = try await TestCall(
            of: endpoint, with: invocation.settings[WebhooksSettings.self]
        ).run(with: keys)
        switch result.outcome {
        case .delivered:
            let json = JSONLine.text { json in
                json.field("delivered", true)
                json.field("milliseconds", result.milliseconds)
            }
            let text = "\(app)/\(name) accepted the test event after \(result.milliseconds) ms"
            print(invocation.isJSON ? json : text)
        case .gone:
            throw CommandError(
                status: .unavailable, "the endpoint answered 410; the stage would disable it")
        case .failed(let reason, _):
            throw CommandError(status: .unavailable, "the test event was not delivered: \(reason)")
        }
    }

    func delete() throws {
        let endpoint = try endpoint()
        if !invocation.isJSON { print("\(app)/\(name) receives no more events, and its secret is deleted") }
        try invocation.confirm(orElse: "nothing was deleted")
        try write(.delete(endpoint))
        if !invocation.isJSON { print("deleted") }
    }

    // MARK: Parts

    private func write(_ change: CatalogChange) throws { try catalog.makeWriter().write(change, now: .now()) }

    private func types() throws -> [WebhookEventType] {
        guard let list = invocation.options["--events"] else { return WebhookEventType.allCases }
        let names = list.split(separator: ",").map(String.init)
        let types = Set(names.compactMap(WebhookEventType.init))
        guard !names.isEmpty, types.count == Set(names).count else {
            let known = WebhookEventType.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandError(status: .usage, "--events must name some of \(known)")
        }
        return WebhookEventType.allCases.filter(types.contains)
    }

    private func seal(_ secret: WebhookSecret) throws -> WebhookEndpoint.Secret {
        let keys = try SealingKeyFile.read(settings: invocation.settings, for: catalog.snapshot)
        let sealed = secret.sealed(
            by: TokenSeal(keys: keys), app: app, endpoint: name, now: WallTime.now().milliseconds)
        guard let sealed else {
            throw CommandError(
                status: .configuration,
                "the secret is stored in the catalog and would be readable there; make sealing keys, give them to every process, and name their file with tokens.sealing-keys-file"
            )
        }
        return sealed
    }

    private func replayStart() throws -> WebhookEndpoint.ReplayStart {
        let parts = (invocation.options["--from"] ?? "").split(separator: "/")
        if parts.count == 3, let topic = TopicName(rawValue: String(parts[0])),
            let partition = Int32(parts[1]),
            let offset = Int64(parts[2]), partition >= 0, offset >= 0
        {
            return .offset(topic: topic.rawValue, partition: partition, offset: offset)
        }
        guard let time = try invocation.time(ofOption: "--from") else {
            throw CommandError(
                status: .usage,
                "name the first event with --from: 2h, 2026-11-20T20:00:00Z, or events/3/1042")
        }
        return .time(time)
    }

    /// Prints the secret. Nothing else is printed, for `SECRET=$(flotilla webhooks create …)`.
    private func show(_ endpoint: WebhookEndpoint, secret: WebhookSecret) {
        if invocation.isJSON {
            WebhooksOutput([endpoint], secret: secret).show(for: invocation)
        } else {
            print(secret.text)
        }
    }
}

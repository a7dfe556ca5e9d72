internal import Catalog
internal import CatalogRecords
internal import Cryptography
internal import HTTPServer
internal import Identifiers
internal import JSON
internal import Kafka
internal import Lifecycle
internal import Members
internal import RecordFormat
internal import Settings
internal import StageSupport
internal import TLS
internal import Telemetry
internal import Topics

/// The HTTP server of the stage, for calls of gateways and for lane queries of other processes. Each process
/// announces its address, its lanes and a secret in the topic `members`; a request must show the secret.
final class QueryServer: Sendable {
    /// The length of the secret, which is random for each start.
    private static let secretBytes = 24
    /// The size limit of a lane query or a call.
    private static let bodyBytesMax = 1 << 20
    private static let answerMilliseconds = 25_000

    private let queryClient: LoopOwned<QueryClient>
    private let localLanes: LaneReaders
    private let handler: QueryHandler
    private let lagMonitor: ConsumerLagMonitor
    private let server: HTTPServer
    private let sampling: Task<Void, Never>
    /// The announced member, without its lanes.
    private let member: Member

    init(
        settings: InsightSettings, in environment: StageEnvironment, openLanes: OpenLanes,
        freshness: FreshnessLog, context: ServiceContext
    ) throws {
        let kafka = environment.cluster.settings
        let layout = environment.layout
        let processName = environment.identity(of: InsightService.name)
        let localLanes = try LaneReaders(
            openLanes: openLanes, laneCount: layout.lanes, freshness: freshness)
        self.localLanes = localLanes
        queryClient = try LoopOwned(thread: "insight-answers", priority: .background) {
            let topic = layout.name(of: .members)
            let members = MembersReader(
                cluster: environment.cluster, topic: topic, on: $0.loop, log: context.log,
                metrics: context.metrics)
            let announcer = try MemberAnnouncer(
                cluster: environment.cluster, topic: topic, on: $0.loop, log: context.log,
                metrics: context.metrics)
            return QueryClient(
                localLanes: localLanes, members: members, announcer: announcer, processName: processName,
                timeoutMilliseconds: settings.queryMilliseconds, owner: $0)
        }
        let fanOut = QueryFanOut(client: queryClient, localLanes: localLanes)
        lagMonitor = try ConsumerLagMonitor(
            settings: kafka, prefix: layout.prefix,
            isInUse: { Self.isInUse(group: $0, in: environment.catalog) }, log: context.log)
        let secret = Hex.text(of: Random.bytes(count: Self.secretBytes))
        handler = QueryHandler(
            fanOut: fanOut, lanes: layout.lanes, lagMonitor: lagMonitor, freshness: freshness)
        var limits = HTTPLimits()
        limits.answerMilliseconds = Self.answerMilliseconds
        let credentials = try Self.makeCredentials(for: settings)
        server = try HTTPServer(
            name: InsightService.name, host: settings.listen.host, port: settings.listen.port, limits: limits,
            tls: try credentials.map {
                HTTPServerTLS(
                    credentials: try ServerCredentials(
                        chain: $0.chain, key: $0.key, protocols: HTTPServerTLS.protocols))
            },
            routes: Self.routes(secret: secret, fanOut: fanOut, handler: handler), metrics: context.metrics)
        sampling = handler.sampleFreshness { environment.catalog.map { $0.apps.keys.sorted() } ?? [] }
        let address = settings.address ?? HostPort(host: settings.listen.host, port: server.port)
        var member = Member(
            stage: InsightService.name, process: processName, host: address.host, port: address.port,
            secret: secret,
            lanes: [], startedAt: WallTime.now().milliseconds, at: 0)
        member.certificate = credentials?.authority
        self.member = member
        openLanes.onChange { [weak self] in self?.announce(lanes: openLanes) }
    }

    /// Whether a consumer group belongs to a stage or to a webhook that exists.
    static func isInUse(group: String, in catalog: CatalogSnapshot?) -> Bool {
        guard group.hasPrefix(WebhookEndpoint.consumerGroupPrefix), let catalog else { return true }
        return catalog.webhooks.values.contains { $0.values.contains { $0.consumerGroup == group } }
    }

    /// Makes a certificate for the address at which other processes reach this one. Callers find it in `members`, where the
    /// secret is, too. Returns nil if only this machine can reach the listener.
    private static func makeCredentials(
        for settings: InsightSettings
    ) throws -> (chain: String, key: String, authority: String)? {
        let name = settings.address?.host ?? settings.listen.host
        if settings.listen.isLoopback { return nil }
        let authority = CertificateAuthority(name: "flotilla insight")
        let certificate = authority.issue(for: [name], days: certificateDays)
        return (certificate.chainPEM, certificate.keyPEM, authority.certificatePEM)
    }

    /// The lifetime of the certificate, which is made at each start.
    private static let certificateDays = 3650

    /// Answers a call in this process, without HTTP.
    func answer(_ call: InsightQuery) async -> HTTPResponse {
        await handler.answer(call, now: WallTime.now().milliseconds)
    }

    private func announce(lanes openLanes: OpenLanes) {
        queryClient.execute { [member] client in
            var memberWithLanes = member
            memberWithLanes.lanes = openLanes.all.map { Int($0.partition) }
            client.announcer.announce { [memberWithLanes] in memberWithLanes }
        }
    }

    private static func routes(secret: String, fanOut: QueryFanOut, handler: QueryHandler)
        -> HTTPRoutes
    {
        let expectedAuthorization = Array("Bearer \(secret)".utf8)
        @Sendable func admission(
            of request: HTTPRequest, answer: @escaping @Sendable (HTTPRequest, HTTPReply) -> Void
        ) -> HTTPAdmission {
            let authorization = Array((request.headers["authorization"] ?? "").utf8)
            // Digests have one length, so that the time of the comparison shows nothing.
            guard
                isEqualInConstantTime(
                    SHA256.digest(of: authorization), SHA256.digest(of: expectedAuthorization))
            else {
                return .refused(
                    .error(
                        status: 401, code: "secret_wrong",
                        message: "show the secret that is in the topic members"))
            }
            return .admitted(answer)
        }
        var routes = HTTPRoutes()
        routes.onAdmission(.post, path: QueryFanOut.path, bodyBytesMax: bodyBytesMax) { request in
            admission(of: request) { request, reply in
                fanOut.answerLocally(request.body) { result in
                    reply.send(result.map { .json($0.encoded()) } ?? unreadable)
                }
            }
        }
        routes.onAdmission(.post, path: InsightQuery.path, bodyBytesMax: bodyBytesMax) { request in
            admission(of: request) { request, reply in
                guard let call = InsightQuery.decodeIfValid(request.body, with: JSONReader()) else {
                    return reply.send(unreadable)
                }
                Task { reply.send(await handler.answer(call, now: WallTime.now().milliseconds)) }
            }
        }
        return routes
    }

    /// The answer to a body that cannot be read.
    private static let unreadable = HTTPResponse.error(
        status: 400, code: "invalid",
        message: "the body is not a question; check that all processes run the same version")

    func stop(by deadline: Instant) async {
        sampling.cancel()
        await server.stop(by: deadline)
        await queryClient.stop { $0.stop() }
        // The threads may still read, so the caller's thread must not wait for them.
        await Task.detached { [localLanes, handler] in
            localLanes.stop()
            handler.freshness.close()
        }.value
        lagMonitor.stop()
    }
}

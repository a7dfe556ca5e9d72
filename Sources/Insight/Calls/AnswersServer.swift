internal import Cryptography
internal import HTTPServer
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Members
internal import Settings
internal import Stages
internal import Telemetry
internal import Topics

/// Where gateways and other processes of the stage ask this one, over HTTP, and the thread that answers them.
///
/// `@unchecked Sendable`: what is not constant is touched on the loop only.
final class AnswersServer: @unchecked Sendable {
    private static let secretBytes = 24
    /// Of a question or a call.
    private static let bodyBytesMax = 1 << 20
    private static let answerMilliseconds = 25_000

    private let loop: EventLoop
    private let asking: Asking
    private let answering: Answering
    private let fleet: FleetQuestions
    private let announcer: MemberAnnouncer
    private let members: MembersReader
    private let server: HTTPServer
    private var member: Member

    init(
        _ settings: InsightSettings, in environment: StageEnvironment, open: OpenLanes,
        context: ServiceContext
    ) throws {
        let kafka = environment.cluster.settings
        let layout = environment.layout
        let own = environment.identity(of: InsightService.name)
        let loop = try EventLoop(name: "insight-answers")
        let local = LaneReader(open, lanes: layout.lanes)
        let members = MembersReader(
            kafka, topic: layout.name(.members), on: loop, log: context.log, metrics: context.metrics)
        announcer = try MemberAnnouncer(
            kafka, topic: layout.name(.members), on: loop, log: context.log, metrics: context.metrics)
        asking = Asking(
            on: loop, local: local, members: members, own: own, milliseconds: settings.askMilliseconds)
        fleet = try FleetQuestions(kafka, prefix: layout.prefix, log: context.log)
        self.loop = loop
        let secret = Hex.text(Random.bytes(Self.secretBytes))
        answering = Answering(asking: asking, lanes: layout.lanes, fleet: fleet)
        var limits = HTTPLimits()
        limits.answerMilliseconds = Self.answerMilliseconds
        server = try HTTPServer(
            name: InsightService.name, host: settings.listen.host, port: settings.listen.port, limits: limits,
            routes: Self.routes(showing: secret, asking, answering), metrics: context.metrics)
        let address = settings.address ?? HostPort(host: settings.listen.host, port: server.port)
        member = Member(
            stage: InsightService.name, process: own, host: address.host, port: address.port, secret: secret,
            lanes: [], startedAt: WallTime.now().milliseconds, at: 0)
        self.members = members
        try loop.start { self.members.begin() }
        open.whenChanged { [weak self] in self?.announce(open) }
    }

    func answer(_ call: InsightCall) async -> HTTPResponse {
        await answering.answer(call, now: WallTime.now().milliseconds)
    }

    private func announce(_ open: OpenLanes) {
        loop.execute {
            self.member.lanes = open.all.map { Int($0.number) }
            self.announcer.announce { self.member }
        }
    }

    private static func routes(showing secret: String, _ asking: Asking, _ answering: Answering) -> HTTPRoutes
    {
        let wanted = Array("Bearer \(secret)".utf8)
        @Sendable func judged(
            _ request: HTTPRequest, _ take: @escaping @Sendable (HTTPRequest, HTTPReply) -> Void
        ) -> HTTPAdmission {
            let shown = Array((request.headers["authorization"] ?? "").utf8)
            guard equalInConstantTime(SHA256.digest(shown), SHA256.digest(wanted)) else {
                return .refused(
                    .error(401, "secret_wrong", message: "show the secret that stands in members"))
            }
            return .admitted(take)
        }
        var routes = HTTPRoutes()
        routes.onJudged(.post, Asking.path, bodyBytesMax: bodyBytesMax) { request in
            judged(request) { request, reply in
                asking.askOwn(request.body) { found in
                    reply.send(found.map { .json($0.encoded()) } ?? unreadable)
                }
            }
        }
        routes.onJudged(.post, InsightCall.path, bodyBytesMax: bodyBytesMax) { request in
            judged(request) { request, reply in
                guard let call = InsightCall.read(request.body, with: JSONReader()) else {
                    return reply.send(unreadable)
                }
                Task { reply.send(await answering.answer(call, now: WallTime.now().milliseconds)) }
            }
        }
        return routes
    }

    private static let unreadable = HTTPResponse.error(
        400, "invalid", message: "this is no question; do all processes run the same version?")

    func stop(by deadline: Instant) async {
        await server.stop(by: deadline)
        _ = loop.perform {
            self.announcer.end()
            self.asking.end()
        }
        loop.stop()
        fleet.stop()
    }
}

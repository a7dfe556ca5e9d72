internal import Cryptography
internal import HTTPServer
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Members
internal import Settings
internal import StageSupport
internal import Telemetry
internal import Topics

/// The HTTP server for questions of gateways and of other processes of the stage, and its thread.
final class AnswersServer: Sendable {
    private static let secretBytes = 24
    /// The size limit of a question or a call.
    private static let bodyBytesMax = 1 << 20
    private static let answerMilliseconds = 25_000

    private let rounds: LoopOwned<AskingRounds>
    private let answering: Answering
    private let fleet: FleetQuestions
    private let server: HTTPServer
    /// The announced member, without its lanes.
    private let member: Member

    init(
        _ settings: InsightSettings, in environment: StageEnvironment, open: OpenLanes,
        context: ServiceContext
    ) throws {
        let kafka = environment.cluster.settings
        let layout = environment.layout
        let own = environment.identity(of: InsightService.name)
        rounds = try LoopOwned(thread: "insight-answers") {
            let topic = layout.name(.members)
            let members = MembersReader(
                kafka, topic: topic, on: $0.loop, log: context.log, metrics: context.metrics)
            let announcer = try MemberAnnouncer(
                kafka, topic: topic, on: $0.loop, log: context.log, metrics: context.metrics)
            return AskingRounds(
                LaneReader(open, lanes: layout.lanes), members, announcer: announcer, own: own,
                milliseconds: settings.askMilliseconds, on: $0.loop)
        }
        let asking = Asking(rounds)
        fleet = try FleetQuestions(kafka, prefix: layout.prefix, log: context.log)
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
        open.whenChanged { [weak self] in self?.announce(open) }
    }

    func answer(_ call: InsightCall) async -> HTTPResponse {
        await answering.answer(call, now: WallTime.now().milliseconds)
    }

    private func announce(_ open: OpenLanes) {
        rounds.execute { [member] rounds in
            var present = member
            present.lanes = open.all.map { Int($0.partition) }
            rounds.announcer.announce { [present] in present }
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
                    .error(401, "secret_wrong", message: "show the secret that is in the topic members"))
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
        400, "invalid", message: "the body is not a question; check that all processes run the same version")

    func stop(by deadline: Instant) async {
        await server.stop(by: deadline)
        await rounds.stop { $0.end() }
        fleet.stop()
    }
}

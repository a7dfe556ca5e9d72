import Cryptography
import Glibc
import HTTP2
import Lifecycle
import ProcessTesting
import TLS
import Telemetry
import Testing

@testable import APNs
@testable import APNsSimulator

/// Peers that do not answer, do not exist, or are impostors.
@Suite struct SilenceFaultTests {
    @Test func `a stalled connection does not delay the others`() async throws {
        let server = try ScriptedServer { connection, request in
            if connection.number == 1, connection.requests > 20 { return connection.tls.pauseReading() }
            connection.accept(request)
        }
        let pusher = try Pusher(server) { $0.pool.requestsMax = 400 }
        pusher.push(1..<10_001, deadlineMilliseconds: 3_000)
        let outcomes = try await pusher.allOutcomes(atLeast: 10_000)
        let answered = outcomes.values.count { $0[0].end == .answered }
        #expect(answered >= 9_000)
        let others = outcomes.values.filter { $0[0].end != .answered }
        #expect(!others.isEmpty)
        // Pushes that never left this side's socket are known to be unprocessed.
        #expect(
            others.allSatisfy {
                [.unknown(.overdue), .notProcessed(.overdue), .notProcessed(.noConnection)].contains(
                    $0[0].end)
            })
        #expect(server.read { $0.accepted.values.allSatisfy { $0.count == 1 } })
    }

    @Test func `a PING detects a vanished peer, and its pushes are unknown`() async throws {
        let server = try ScriptedServer { connection, request in
            connection.number == 1 ? connection.tls.pauseReading() : connection.accept(request)
        }
        let pusher = try Pusher(server) {
            $0.pool.silentPingMilliseconds = 200
            $0.pool.pongMilliseconds = 200
        }
        pusher.push(1..<2)
        #expect(try await pusher.outcome(of: 1).end == .unknown(.connectionLost))
        pusher.push(2..<3)
        #expect(try await pusher.outcome(of: 2).end == .answered)
    }

    @Test func `an answer after the deadline is reported as late, once`() async throws {
        let server = try ScriptedServer { connection, request in
            connection.after(milliseconds: 600) { connection.accept(request) }
        }
        let pusher = try Pusher(server)
        pusher.push(1..<2, deadlineMilliseconds: 200)
        try await eventually("the late answer") { pusher.ends(of: 1).count == 2 }
        let outcomes = try #require(pusher.outcomes[1])
        #expect(outcomes[0].end == .unknown(.overdue) && !outcomes[0].isLate)
        #expect(outcomes[1].end == .answered && outcomes[1].isLate && outcomes[1].status == 200)
        #expect(pusher.metrics.render().contains("flotilla_apns_late_answers_total 1"))
    }

    @Test func `slow answers fill the pool up to its limit`() async throws {
        let server = try ScriptedServer { connection, request in
            connection.after(milliseconds: 100) { connection.accept(request) }
        }
        let pusher = try Pusher(server) { $0.pool.requestsMax = 150 }
        pusher.push(1..<1_501)
        let outcomes = try await pusher.allOutcomes(atLeast: 1_500)
        #expect(outcomes.values.allSatisfy { $0[0].end == .answered })
        #expect(pusher.openPushesMax == 150)
    }

    @Test func `a closed port costs few connects, and pushes end as unprocessed`() async throws {
        let listener = try TCPListener.bind(host: "127.0.0.1", port: 0)
        close(listener.descriptor)
        let pusher = try Pusher(
            Endpoint(host: "127.0.0.1", port: listener.address.port),
            trust: .authorities(.text(CertificateAuthority(name: "x").certificatePEM))
        ) { $0.connectBurst = 1 }
        let startedAt = Instant.now()
        for batch in 0..<3 {
            let tags = UInt64(batch) * 10 + 1..<UInt64(batch) * 10 + 11
            pusher.push(tags, deadlineMilliseconds: 700)
            _ = try await pusher.allOutcomes(atLeast: (batch + 1) * 10)
        }
        #expect(pusher.outcomes.values.allSatisfy { $0.map(\.end) == [.notProcessed(.noConnection)] })
        let seconds = Int(Instant.now().seconds(since: startedAt)) + 2
        #expect((1...seconds).contains(pusher.connectCount("failed")))
        let lastFailure = pusher.onLoop { $0.health(of: Pusher.profile)?.lastFailure }
        #expect(lastFailure?.contains("127.0.0.1") == true)
    }

    enum Impostor: CaseIterable {
        case unknownAuthority, wrongHost, expired, noHTTP2
    }

    @Test(arguments: Impostor.allCases)
    func `an impostor receives not one byte, and the reason is reported`(impostor: Impostor)
        async throws
    {
        let authority = CertificateAuthority(name: "Test CA")
        let other = CertificateAuthority(name: "Other CA")
        let hour: Int64 = 3_600_000
        let now = WallTime.now().milliseconds
        let past = WallTime(milliseconds: now - 4 * hour)...WallTime(milliseconds: now - 2 * hour)
        let identity =
            switch impostor {
            case .unknownAuthority: other.issue(for: ["localhost"])
            case .wrongHost: authority.issue(for: ["elsewhere.example"])
            case .expired: authority.issue(for: ["localhost"], validity: past)
            case .noHTTP2: authority.issue(for: ["localhost"])
            }
        // The context is made at a time at which the expired certificate was valid. Otherwise the server refuses it.
        let context = try TLSContext.server(
            chain: .text(identity.chainPEM), key: .text(identity.keyPEM),
            protocols: impostor == .noHTTP2 ? ["http/1.1"] : ["h2"],
            at: WallTime(milliseconds: now - 3 * hour))
        let server = try ScriptedServer(authority, context: context) { connection, request in
            connection.accept(request)
        }
        let pusher = try Pusher(server)
        pusher.push(1..<11, deadlineMilliseconds: 1_000)
        let outcomes = try await pusher.allOutcomes(atLeast: 10)
        #expect(outcomes.values.allSatisfy { $0.map(\.end) == [.notProcessed(.noConnection)] })
        #expect(server.read { $0.plaintextBytes } == 0)
        let health = try #require(pusher.onLoop { $0.health(of: Pusher.profile) })
        let expectedWords =
            switch impostor {
            case .unknownAuthority: "not signed by a known CA"
            case .wrongHost: "elsewhere.example"
            case .expired: "expired"
            case .noHTTP2: "localhost"
            }
        #expect(
            !health.isWorking && health.lastFailure?.contains(expectedWords) == true,
            "\(health.lastFailure ?? "")")
        #expect(pusher.metrics.render().contains("flotilla_apns_connects_total{result=\"refused\"}"))
    }

    @Test func `a server with an outdated TLS version is refused, and the reason is reported`() async throws {
        let authority = CertificateAuthority(name: "Test CA")
        let run = try RunningLoop()
        let port = try TLSFaultPort(
            .oldTLS, host: "127.0.0.1", port: 0, authority: authority, names: ["localhost"], on: run.loop)
        defer { port.stop() }
        let pusher = try Pusher(
            Endpoint(host: "localhost", port: port.port),
            trust: .authorities(.text(authority.certificatePEM)))
        pusher.push(1..<11, deadlineMilliseconds: 1_000)
        let outcomes = try await pusher.allOutcomes(atLeast: 10)
        #expect(outcomes.values.allSatisfy { $0.map(\.end) == [.notProcessed(.noConnection)] })
        let health = try #require(pusher.onLoop { $0.health(of: Pusher.profile) })
        #expect(
            !health.isWorking && health.lastFailure?.contains("TLS 1.2") == true,
            "\(health.lastFailure ?? "")")
        #expect(pusher.metrics.render().contains("flotilla_apns_connects_total{result=\"refused\"}"))
    }

    @Test func `a connection with starved windows does not delay the others`() async throws {
        let stand = try SimulatorStand(
            #"{"rules":[{"match":{"nth":20},"starveWindows":true}]}"#,
            client: {
                $0.pool.requestsMax = 400
                $0.pool.connectionsMax = 4
            })
        // The window of a connection is 1 MiB. About 300 of these pushes fill the starved one.
        let body = Array(
            (#"{"aps":{"timestamp":1763600000,"event":"update","content-state":{"x":""#
                + String(repeating: "x", count: 3_000) + #""}}}"#).utf8)
        stand.pusher.push(
            1..<10_001, deadlineMilliseconds: 3_000, profile: stand.profile, body: body)
        let outcomes = try await stand.pusher.allOutcomes(atLeast: 10_000)
        let answered = outcomes.values.count { $0[0].end == .answered && $0[0].status == 200 }
        #expect(answered >= 9_000)
        let others = outcomes.values.filter { $0[0].end != .answered }
        #expect(!others.isEmpty, "no window was used up")
        #expect(
            others.allSatisfy {
                [.unknown(.overdue), .notProcessed(.overdue), .notProcessed(.noConnection)].contains(
                    $0[0].end)
            })
    }
}

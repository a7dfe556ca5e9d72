import Cryptography
import Identifiers
import Jobs
import KafkaTesting
import Payloads
import ProcessTesting
import Sender
import Testing
import TokenSealing
import Topics

@testable import APNsSimulator

/// Several apps of one sender, of which one has a fault. Its fault must not delay the others, and must cost no token.
@Suite(.timeLimit(.minutes(5))) struct SenderAppsTests {
    private typealias AppSetting = SenderStand.AppSetting

    private static let bank = AppSetting(
        id: "bank", bundleID: "com.example.bank", teamID: "BANKTEAM01", keyID: "BANKKEY001",
        environments: [.production, .sandbox])
    private static let news = AppSetting(
        id: "news", bundleID: "com.example.news", teamID: "NEWSTEAM01", keyID: "NEWSKEY001",
        environments: [.sandbox])

    /// Returns the metric that is 1 while the breaker is open.
    private func breakerMetric(of app: String, in environment: String) -> String {
        #"flotilla_sender_breaker_open{app="\#(app)",environment="\#(environment)"}"#
    }

    @Test func `apps of several teams, keys and environments push side by side over two loops`() async throws
    {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers, apps: [.shop, Self.bank, Self.news])
        let sender = try await RunningSender(stand, slots: "one") { $0.loops = 2 }
        let appsAndEnvironments: [(AppSetting, Environment)] = [
            (.shop, .production), (Self.bank, .production), (Self.bank, .sandbox), (Self.news, .sandbox),
        ]
        for lane in 0..<Int32(SenderStand.lanes) {
            for (app, environment) in appsAndEnvironments {
                let first = Int(lane) * 1_000
                try stand.write(
                    stand.head(.update, of: app, in: environment), to: first..<first + 50, lane: lane)
            }
        }
        let jobs = SenderStand.lanes * 50 * appsAndEnvironments.count
        try await eventually("all are pushed") { sender.outcomes(.accepted) >= jobs || sender.failure != nil }
        #expect(sender.failure == nil)
        await sender.stop()
        #expect(try stand.finalOutcomes().values.allSatisfy { $0 == [.accepted] })
        for (app, environment) in appsAndEnvironments {
            #expect(
                stand.requestCount(toApp: app.bundleID, in: environment) == SenderStand.lanes * 50,
                "\(app.id)")
        }
    }

    @Test func `a wrong key pauses only its app and is named, and a corrected key lets the app continue`()
        async throws
    {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers, apps: [.shop, Self.bank])
        try stand.putKey("BANKKEY001", of: Self.bank, isRight: false)
        let sender = try await RunningSender(stand, slots: "one")
        for sheet in 0..<4 {
            try stand.write(
                stand.head(.update, group: "b\(sheet)", of: Self.bank), to: sheet * 250..<sheet * 250 + 250,
                lane: 0)
        }
        try stand.write(stand.head(.update), to: 0..<200, lane: 0)
        try await eventually("the bank is paused") {
            sender.metric(breakerMetric(of: "bank", in: "production")) == 1
        }
        try await eventually("the shop is not") { sender.outcomes(.accepted) >= 200 }
        #expect(
            stand.requestCount(toApp: Self.bank.bundleID, in: .production) < 500,
            "nothing is pushed while it is open")
        #expect(sender.log.contains("the app's team id, key id and key file"), "\(sender.log)")
        #expect(sender.metric(breakerMetric(of: "shop", in: "production")) == 0)
        #expect(sender.metric("flotilla_sender_dead_tokens_total") == 0)
        try stand.putKey("BANKKEY001", of: Self.bank, isRight: true)
        try await eventually("the bank continues") {
            sender.metric(breakerMetric(of: "bank", in: "production")) == 0
                && sender.outcomes(.accepted) > 200
        }
        await sender.stop()
        #expect(sender.metric("flotilla_sender_dead_tokens_total") == 0)
    }

    @Test func `jobs that wait in a tier take no memory, and leave when they are due`() async throws {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers, apps: [.shop, Self.bank])
        try stand.putKey("BANKKEY001", of: Self.bank, isRight: false)
        let sender = try await RunningSender(stand, slots: "one") { $0.limits.sheetBytesMax = 1 << 20 }
        for sheet in 0..<20 {
            try stand.write(
                stand.head(.update, group: "b\(sheet)", of: Self.bank), to: sheet * 250..<sheet * 250 + 250,
                lane: 0)
        }
        try await eventually("the bank's jobs are in tiers") {
            sender.metric(breakerMetric(of: "bank", in: "production")) == 1
                && sender.outcomes(.moved) >= 5_000
                && sender.metric("flotilla_sender_sheets") == 0
        }
        try stand.write(stand.head(.update), to: 0..<200, lane: 0)
        try await eventually("the shop's are pushed") { sender.outcomes(.accepted) >= 200 }
        try stand.putKey("BANKKEY001", of: Self.bank, isRight: true)
        try await eventually("the bank's are pushed") { sender.outcomes(.accepted) >= 400 }
        await sender.stop()
        #expect(sender.failure == nil)
    }

    @Test func `tokens of another environment pause only their app, and none is lost`() async throws {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers, apps: [.shop, Self.bank])
        stand.setKnown(false, in: .sandbox)
        let sender = try await RunningSender(stand, slots: "one")
        try stand.write(stand.head(.update, of: Self.bank, in: .sandbox), to: 0..<250, lane: 0)
        try stand.write(stand.head(.update, of: Self.bank), to: 0..<100, lane: 0)
        try stand.write(stand.head(.update), to: 0..<100, lane: 0)
        try await eventually("the sandbox is paused") {
            sender.metric(breakerMetric(of: "bank", in: "sandbox")) == 1
        }
        try await eventually("the others are not") { sender.outcomes(.accepted) >= 200 }
        #expect(sender.log.contains("the app's environment"), "\(sender.log)")
        stand.setKnown(true, in: .sandbox)
        try await eventually("the sandbox continues") {
            sender.metric(breakerMetric(of: "bank", in: "sandbox")) == 0 && sender.outcomes(.accepted) > 200
        }
        await sender.stop()
        #expect(sender.metric("flotilla_sender_dead_tokens_total") == 0)
        #expect(try stand.finalOutcomes().values.allSatisfy { $0 == [.accepted] })
    }

    @Test func `an app without answers does not hold up another app in its lanes`() async throws {
        let cluster = try TestCluster()
        let stand = try SenderStand(
            cluster.brokers,
            script: #"{"rules":[{"match":{"environment":"sandbox"},"silence":{"processed":false}}]}"#,
            apps: [.shop, Self.bank])
        let sender = try await RunningSender(stand, slots: "one") { $0.limits.window = 5 }
        for sheet in 0..<20 {
            try stand.write(
                stand.head(.update, group: "b\(sheet)", of: Self.bank, in: .sandbox),
                to: sheet * 100..<sheet * 100 + 100, lane: 0)
        }
        try stand.write(stand.head(.update), to: 0..<100, lane: 0)
        try await eventually("the shop's are pushed") { sender.outcomes(.accepted) >= 100 }
        try stand.setScript("{}")
        await sender.stop()
        #expect(stand.requestCount(toApp: SenderStand.bundleID, in: .production) == 100)
        #expect(sender.metric("flotilla_sender_dead_tokens_total") == 0)
    }

    @Test func `sealed tokens are used, and tokens that other keys sealed become dead letters`() async throws
    {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers)
        func keys(_ name: String) throws -> SealingKeys {
            let file = try stand.directory.writeFile(named: name, content: SealingKeys.makeText())
            return try SealingKeys(file: file)
        }
        let (ownKeys, otherKeys) = (try keys("own"), try keys("others"))
        let sender = try await RunningSender(stand, slots: "one", sealingKeys: ownKeys)
        try stand.write(stand.head(.update), to: 0..<100, lane: 0, sealedBy: TokenSeal(keys: ownKeys))
        try stand.write(
            stand.head(.update, group: "m2"), to: 100..<103, lane: 1, sealedBy: TokenSeal(keys: otherKeys))
        try await eventually("all have receipts") {
            sender.outcomes(.accepted) >= 100 && sender.outcomes(.rejected) >= 3
        }
        await sender.stop()
        #expect(stand.journal.requests == 100)
        #expect(sender.metric(#"flotilla_sender_dead_letters_total{code="token_unreadable"}"#) == 3)
    }
}

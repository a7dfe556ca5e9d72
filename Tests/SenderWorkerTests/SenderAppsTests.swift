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

/// Tests of one sender that pushes for several apps, of which one has a fault: a wrong provider key, tokens of another
/// environment, or no answers. The fault must pause only that app. It must not delay the other apps, and no token may
/// be reported as dead. The pushes of an app pause while its breaker is open.
@Suite(.timeLimit(.minutes(5))) struct SenderAppsTests {
    private typealias TestApp = SenderStand.TestApp

    private static let bank = TestApp(
        id: "bank", bundleID: "com.example.bank", teamID: "BANKTEAM01", keyID: "BANKKEY001",
        environments: [.production, .sandbox])
    private static let news = TestApp(
        id: "news", bundleID: "com.example.news", teamID: "NEWSTEAM01", keyID: "NEWSKEY001",
        environments: [.sandbox])

    /// Writes sheets of updates to the phones of the bank into lane 0. Each sheet belongs to another group.
    private func writeBankSheets(
        count: Int, jobsPerSheet: Int, in environment: Environment = .production, on stand: SenderStand
    ) throws {
        for sheet in 0..<count {
            let firstPhone = sheet * jobsPerSheet
            try stand.write(
                stand.sheetHead(.update, group: "b\(sheet)", of: Self.bank, in: environment),
                to: firstPhone..<firstPhone + jobsPerSheet, lane: 0)
        }
    }

    @Test func `apps of several teams, keys and environments push side by side over two loops`() async throws
    {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers, apps: [.shop, Self.bank, Self.news])
        let sender = try await RunningSender(on: stand) { $0.loops = 2 }
        let appsAndEnvironments: [(TestApp, Environment)] = [
            (.shop, .production), (Self.bank, .production), (Self.bank, .sandbox), (Self.news, .sandbox),
        ]
        let jobsPerSheet = 50
        for lane in 0..<Int32(SenderStand.laneCount) {
            for (app, environment) in appsAndEnvironments {
                let firstPhone = Int(lane) * 1_000
                try stand.write(
                    stand.sheetHead(.update, of: app, in: environment),
                    to: firstPhone..<firstPhone + jobsPerSheet, lane: lane)
            }
        }
        let jobsPerApp = SenderStand.laneCount * jobsPerSheet
        let jobCount = jobsPerApp * appsAndEnvironments.count
        try await eventually("all jobs are pushed") {
            sender.jobCount(.accepted) >= jobCount || sender.failure != nil
        }
        #expect(sender.failure == nil)
        await sender.stop()
        #expect(try stand.finalOutcomes().values.allSatisfy { $0 == [.accepted] })
        for (app, environment) in appsAndEnvironments {
            #expect(
                stand.requestCount(toApp: app.bundleID, in: environment) == jobsPerApp, "\(app.id)")
        }
    }

    @Test func `a wrong key pauses only its app and is named, and a corrected key lets the app continue`()
        async throws
    {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers, apps: [.shop, Self.bank])
        try stand.useWrongKey(of: Self.bank)
        let sender = try await RunningSender(on: stand)
        try writeBankSheets(count: 4, jobsPerSheet: 250, on: stand)
        try stand.write(stand.sheetHead(.update), to: 0..<200, lane: 0)
        try await eventually("the bank is paused") {
            sender.isBreakerOpen(ofApp: "bank", in: .production)
        }
        try await eventually("the shop's jobs are pushed") { sender.jobCount(.accepted) >= 200 }
        #expect(
            stand.requestCount(toApp: Self.bank.bundleID, in: .production) < 500,
            "the pushes of the bank did not pause")
        #expect(sender.log.contains("the app's team id, key id and key file"), "\(sender.log)")
        #expect(!sender.isBreakerOpen(ofApp: "shop", in: .production))
        #expect(sender.deadTokenCount == 0)
        try stand.useRightKey(of: Self.bank)
        try await eventually("the bank continues") {
            !sender.isBreakerOpen(ofApp: "bank", in: .production)
                && sender.jobCount(.accepted) > 200
        }
        await sender.stop()
        #expect(sender.deadTokenCount == 0)
    }

    @Test func `jobs that wait in a tier take no memory, and leave when they are due`() async throws {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers, apps: [.shop, Self.bank])
        try stand.useWrongKey(of: Self.bank)
        let sender = try await RunningSender(on: stand) { $0.limits.sheetBytesMax = 1 << 20 }
        try writeBankSheets(count: 20, jobsPerSheet: 250, on: stand)
        try await eventually("the bank's jobs are in tiers") {
            let areAllMoved = sender.jobCount(.moved) >= 20 * 250
            let sheetsInHand = sender.metric("flotilla_sender_sheets")
            return sender.isBreakerOpen(ofApp: "bank", in: .production) && areAllMoved && sheetsInHand == 0
        }
        try stand.write(stand.sheetHead(.update), to: 0..<200, lane: 0)
        try await eventually("the shop's jobs are pushed") { sender.jobCount(.accepted) >= 200 }
        try stand.useRightKey(of: Self.bank)
        try await eventually("jobs of the bank are pushed") { sender.jobCount(.accepted) >= 400 }
        await sender.stop()
        #expect(sender.failure == nil)
    }

    @Test func `tokens of another environment pause only their app, and none is lost`() async throws {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers, apps: [.shop, Self.bank])
        stand.refuseAllTokens(in: .sandbox)
        let sender = try await RunningSender(on: stand)
        try stand.write(stand.sheetHead(.update, of: Self.bank, in: .sandbox), to: 0..<250, lane: 0)
        try stand.write(stand.sheetHead(.update, of: Self.bank), to: 0..<100, lane: 0)
        try stand.write(stand.sheetHead(.update), to: 0..<100, lane: 0)
        try await eventually("the sandbox is paused") {
            sender.isBreakerOpen(ofApp: "bank", in: .sandbox)
        }
        try await eventually("the other jobs are pushed") { sender.jobCount(.accepted) >= 200 }
        #expect(sender.log.contains("the app's environment"), "\(sender.log)")
        stand.refuseAllTokens(in: nil)
        try await eventually("the sandbox continues") {
            !sender.isBreakerOpen(ofApp: "bank", in: .sandbox) && sender.jobCount(.accepted) > 200
        }
        await sender.stop()
        #expect(sender.deadTokenCount == 0)
        #expect(try stand.finalOutcomes().values.allSatisfy { $0 == [.accepted] })
    }

    @Test func `an app without answers does not hold up another app in its lanes`() async throws {
        let cluster = try TestCluster()
        let stand = try SenderStand(
            cluster.brokers,
            script: #"{"rules":[{"match":{"environment":"sandbox"},"silence":{"processed":false}}]}"#,
            apps: [.shop, Self.bank])
        // Only 5 of the 20 silent sheets before the shop's sheet may begin. So the sender must evict some of them.
        let sender = try await RunningSender(on: stand) { $0.limits.window = 5 }
        try writeBankSheets(count: 20, jobsPerSheet: 100, in: .sandbox, on: stand)
        try stand.write(stand.sheetHead(.update), to: 0..<100, lane: 0)
        try await eventually("the shop's jobs are pushed") { sender.jobCount(.accepted) >= 100 }
        try stand.setScript("{}")
        await sender.stop()
        #expect(stand.requestCount(toApp: TestApp.shop.bundleID, in: .production) == 100)
        #expect(sender.deadTokenCount == 0)
    }

    @Test func `sealed tokens are used, and tokens that other keys sealed become dead letters`() async throws
    {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers)
        func makeKeys(inFile name: String) throws -> SealingKeys {
            let file = try stand.directory.writeFile(named: name, content: SealingKeys.makeText())
            return try SealingKeys(file: file)
        }
        let ownKeys = try makeKeys(inFile: "own")
        let otherKeys = try makeKeys(inFile: "others")
        let sender = try await RunningSender(on: stand, sealingKeys: ownKeys)
        try stand.write(stand.sheetHead(.update), to: 0..<100, lane: 0, sealedBy: TokenSeal(keys: ownKeys))
        try stand.write(
            stand.sheetHead(.update, group: "m2"), to: 100..<103, lane: 1,
            sealedBy: TokenSeal(keys: otherKeys))
        try await eventually("all jobs have receipts") {
            sender.jobCount(.accepted) >= 100 && sender.jobCount(.rejected) >= 3
        }
        await sender.stop()
        #expect(stand.journal.requests == 100)
        #expect(sender.metric(#"flotilla_sender_dead_letters_total{code="token_unreadable"}"#) == 3)
    }
}

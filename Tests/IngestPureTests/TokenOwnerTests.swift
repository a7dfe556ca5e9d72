import CatalogRecords
import Identifiers
import IngestTesting
import InstallationRecords
import Simulation
import Testing
import TokenSealing

@testable import Ingest

/// The owner of a start token that several installations report: the one with the newest report.
struct TokenOwnerTests {
    private static let token = "c0ffee"

    private static func report(of installation: String, at eventTime: Int64) -> Report {
        var report = Report(
            app: History.app.id, environment: .production, installation: installation, kind: .startToken)
        (report.token, report.attributesType, report.eventTime) = (token, "Match", eventTime)
        return report
    }

    /// The partitions of some installations and of their token. Reports and claims for another partition wait in
    /// `forwarded`, and arrive in any order and perhaps twice.
    private final class Partitions {
        private enum Forwarded {
            case report(Report, ReportArrival)
            case claim(TokenClaims.Claim)
        }

        let run = IngestRun()
        private var owner: TokenOwnerRow?
        private var forwarded: [Forwarded] = []
        private(set) var claimCount = 0

        func receive(_ report: Report, at receivedAt: Int64) {
            take(.report(report, ReportArrival(receivedAt: receivedAt, offset: receivedAt)))
        }

        private func take(_ forwarded: Forwarded) {
            switch forwarded {
            case .report(let report, let arrival): merge(report, arrival)
            case .claim(let claim): decide(claim)
            }
        }

        private func decide(_ claim: TokenClaims.Claim) {
            let decision = TokenOwner.decide(claim, app: History.app.id, over: owner)
            owner = decision.row ?? owner
            guard let loss = decision.loss else { return }
            let notice = loss.report(
                ofToken: claim.tokenHash, app: History.app.id, environment: .production)
            forwarded.append(.report(notice, ReportArrival(receivedAt: loss.receivedAt, offset: 0)))
        }

        private func merge(_ report: Report, _ arrival: ReportArrival) {
            let outcome = run.merge(report, at: arrival.receivedAt, offset: arrival.offset)
            guard case .merged(let merged) = outcome, let claim = merged.claim,
                let installation = report.installation
            else { return }
            claimCount += 1
            forwarded.append(
                .claim(.init(tokenHash: claim.tokenHash, installation: installation, at: claim.at)))
        }

        /// Delivers all reports and claims that wait, in random order, some of them twice.
        func deliverAll(_ random: inout SeededGenerator) {
            var deliveries = 0
            while !forwarded.isEmpty {
                deliveries += 1
                if deliveries > 1000 {
                    Issue.record("the installations claim the token without an end")
                    return
                }
                let next = forwarded.remove(at: random.number(below: forwarded.count))
                if random.number(below: 4) == 0 { take(next) }
                take(next)
            }
        }

        /// The installations whose start token is used.
        var holders: [String] {
            run.installations.values.compactMap { installation in
                guard case .installation(let id) = installation.subject,
                    installation.startTokens.contains(where: { installation.isUsable($0) })
                else { return nil }
                return id
            }.sorted()
        }
    }

    @Test(arguments: UInt64(0)..<50)
    func `the installation with the newest report has the token, in any order of delivery`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let partitions = Partitions()
        var newest = ""
        for number in 1...8 {
            let installation = "phone-\(random.number(below: 3))"
            let time = Int64(1_000_000 + 1000 * number)
            newest = installation
            partitions.receive(Self.report(of: installation, at: time), at: time)
            if random.number(below: 2) == 0 { partitions.deliverAll(&random) }
        }
        partitions.deliverAll(&random)
        #expect(partitions.holders == [newest])
    }

    @Test func `a claim is made for a new token, for one that is used again, and once in a week`() {
        var random = SeededGenerator(seed: 1)
        let partitions = Partitions()
        let day: Int64 = 86_400_000
        partitions.receive(Self.report(of: "a", at: 100 * day), at: 100 * day)
        partitions.receive(Self.report(of: "a", at: 101 * day), at: 101 * day)
        #expect(partitions.claimCount == 1)
        partitions.receive(Self.report(of: "a", at: 107 * day), at: 107 * day)
        #expect(partitions.claimCount == 2)
        partitions.deliverAll(&random)
        partitions.receive(Self.report(of: "b", at: 108 * day), at: 108 * day)
        partitions.deliverAll(&random)
        #expect(partitions.holders == ["b"] && partitions.claimCount == 3)
        partitions.receive(Self.report(of: "a", at: 109 * day), at: 109 * day)
        partitions.deliverAll(&random)
        #expect(partitions.holders == ["a"] && partitions.claimCount == 4)
        let loser = partitions.run.installations[.installation("b")]
        #expect(loser?.deliveryProblems.map(\.code) == [.takenOver])
        let hasTokenRow = partitions.run.registry.keys.contains {
            $0.recipient == .installation("b") && $0.entry != .profile
        }
        #expect(!hasTokenRow)
    }

    @Test func `another environment and another token do not compete`() throws {
        let partitions = Partitions()
        partitions.receive(Self.report(of: "a", at: 1000), at: 1000)
        let hash = try #require(partitions.run.installations[.installation("a")]?.startTokens[0].token?.hash)
        for (environment, tokenHash) in [(Environment.sandbox, hash), (.production, "00")] {
            var notice = Report(
                app: History.app.id, environment: environment, installation: "a", kind: .tokenTakenOver)
            notice.proof = .init(tokenHash: tokenHash, entry: .start(type: "Match"))
            partitions.receive(notice, at: 2000)
            #expect(partitions.holders == ["a"], "\(environment) \(tokenHash)")
        }
    }

    @Test func `the key of an owner's row differs by environment, and no installation has such a key`() {
        let keys = [Environment.production, .sandbox].map { environment in
            var key: [UInt8] = []
            TokenOwnerRow.writeKey(app: "shop", environment: environment, tokenHash: "00", to: &key)
            return key
        }
        func isKey(_ key: [UInt8]) -> Bool { TokenOwnerRow.isKey(key.span) }
        #expect(keys[0] != keys[1] && keys.allSatisfy(isKey))
        let claims = TokenClaims(app: "shop", environment: .production, claims: [])
        #expect(isKey(claims.key))
        let report = Report(app: "shop", environment: .production, installation: "t:a", kind: .heartbeat)
        #expect(!isKey(report.key))
    }
}

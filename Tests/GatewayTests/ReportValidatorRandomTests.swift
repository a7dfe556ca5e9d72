import CatalogRecords
import Identifiers
import InstallationRecords
import JSON
import RecordFormat
import Simulation
import Testing

@testable import Gateway

/// The validation of random bodies: apps stay apart, reports do not affect each other, and damage is refused.
struct ReportValidatorRandomTests {
    /// Apps with one environment or both.
    private let apps = (0..<8).map { number in
        App(
            id: "app\(number)", bundleID: "com.example",
            environments: number % 2 == 0 ? [.production] : [.production, .sandbox], teamID: "ABCDE12345",
            keyID: "KEY1234567")
    }

    @Test func `no body writes to an app other than its key's`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let validator = ReportValidator(sealingKeys: nil)
        for _ in 0..<trialCount(base: 10_000) {
            let app = apps.randomElement(using: &random)!
            let namedApp = apps.randomElement(using: &random)!.id
            let fields = [
                "", #","app":"\#(namedApp)""#, #","attributes":{"app":"\#(namedApp)"}"#,
                #","userId":"\#(namedApp)/i:x""#,
            ]
            let field = fields.randomElement(using: &random)!
            let installation = ["i", "\(namedApp)/i:victim", "../\(namedApp)", "%2f\(namedApp)"]
                .randomElement(
                    using: &random)!
            let body = heartbeat(field, installation: installation)
            let result = try validator.validate(Array(body.utf8), for: app, role: .report)
            let mayPass = !field.hasPrefix(#","app""#) || namedApp == app.id
            #expect((result.acceptedCount == 1) == mayPass, "seed \(seed): \(body) for \(app.id)")
            guard result.acceptedCount == 1 else { continue }
            let (key, value) = result.copyRecord(at: 0)
            #expect(RecordKey.split(key) == [app.id, "i:\(installation)"], "seed \(seed)")
            #expect(try Report.decode(value, with: JSONReader()).app == app.id, "seed \(seed)")
        }
    }

    @Test func `a body read at once gives the same result as its reports read one by one`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let validator = ReportValidator(sealingKeys: nil)
        let valid = [
            heartbeat(), heartbeat(#","tags":["a"]"#), heartbeat(#","eventTime":5"#, installation: "é"),
        ]
        let invalid = ["{}", "7", heartbeat(#","x":1"#), heartbeat(#","token":"q""#)]
        for _ in 0..<trialCount(base: 300) {
            let reports = (0..<Int.random(in: 1...20, using: &random)).map { _ in
                (random.number(below: 4) == 0 ? invalid : valid).randomElement(using: &random)!
            }
            let result = try validator.validate(
                Array("[\(reports.joined(separator: ","))]".utf8), for: shop, role: .report)
            var accepted = 0
            for (index, report) in reports.enumerated() {
                let alone = try validator.validate(Array(report.utf8), for: shop, role: .report)
                if alone.acceptedCount == 1 {
                    let single = alone.copyRecord(at: 0)
                    let inBody = result.copyRecord(at: accepted)
                    var report = try Report.decode(single.value, with: JSONReader())
                    report.bodyPosition = index
                    #expect(single.key == inBody.key && report.encoded() == inBody.value, "seed \(seed)")
                    accepted += 1
                } else {
                    let problems = result.refused.first { $0.index == index }?.problems
                    #expect(problems == alone.refused[0].problems, "seed \(seed)")
                }
            }
            #expect(result.acceptedCount == accepted && result.refused.count == reports.count - accepted)
        }
    }

    @Test func `random bytes are accepted or refused, and accepted reports can be read`() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let validator = ReportValidator(sealingKeys: nil)
        let profile = #","attributes":{"a":[1,{"b":null}]},"running":["x"],"tags":["é","\u00e9"]"#
        let validBody = Array("[\(heartbeat(profile)),\(heartbeat(#","token":"c0ffee""#))]".utf8)
        for _ in 0..<trialCount(base: 20_000) {
            var body = validBody
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let position = random.number(below: max(1, body.count))
                // Replaces a byte, flips a bit, inserts bytes, cuts the body, or copies a part of it.
                switch random.number(below: 5) {
                case 0 where !body.isEmpty: body[position] = UInt8.random(in: .min ... .max, using: &random)
                case 1 where !body.isEmpty: body[position] ^= 1 << random.number(below: 8)
                case 2: body.insert(contentsOf: random.bytes(count: 1...3), at: min(position, body.count))
                case 3: body = Array(body.prefix(position))
                default:
                    let other = random.number(below: max(1, body.count))
                    body.insert(
                        contentsOf: body[min(other, position)..<max(other, position)].prefix(40), at: position
                    )
                }
            }
            guard let result = try? validator.validate(body, for: shop, role: .report) else { continue }
            for index in 0..<result.acceptedCount {
                let (key, value) = result.copyRecord(at: index)
                let report = try? Report.decode(value, with: JSONReader())
                #expect(report?.app == "shop" && report?.key == key, "seed \(seed): \(body)")
            }
        }
    }
}

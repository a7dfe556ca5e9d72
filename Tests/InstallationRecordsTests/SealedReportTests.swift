import Identifiers
import InstallationRecords
import JSON
import RecordFormat
import Testing

@testable import TokenSealing

// Reports whose tokens are sealed.

private let keyText = """
    hash \(String(repeating: "ab", count: 32))
    key 1 \(String(repeating: "01", count: 32))

    """

private func keys(_ text: String) throws -> SealingKeys { try SealingKeys(lines: Array(text.utf8)[...]) }
private let token = PushToken(hex: String(repeating: "c0ffee12", count: 20))!

@Test(arguments: [Report.Kind.startToken, .updateToken, .heartbeat])
func `a report's token is sealed for its registry row and opens again`(
    kind: Report.Kind
) throws {
    let seal = TokenSeal(keys: try keys(keyText))
    var report = Report(app: "shop", environment: .production, installation: "i1", kind: kind)
    report.attributesType = "Match"
    report.activity = kind == .startToken ? nil : "a1"
    report.token = String(decoding: token.hex, as: UTF8.self)
    let plain = report
    seal.seal(tokenOf: &report)
    let entry = kind == .startToken ? "start:Match" : "update:a1"
    #expect(report.token == seal.seal(token, app: "shop", entry: entry))
    #expect(report.isTokenSealed && !plain.isTokenSealed)
    #expect(try Report.decode(report.encoded(), with: JSONReader()) == report)
    #expect(try seal.open(tokenOf: report) == token)
    #expect(try seal.open(tokenOf: plain) == token, "the token of a service without keys")
    var moved = report
    moved.app = "bank"
    #expect(throws: TokenSeal.Failure.sealedForAnotherRow) { try seal.open(tokenOf: moved) }
}

@Test func `a report stays unchanged without keys or without a token`() throws {
    var report = Report(app: "shop", environment: .production, installation: "i1", kind: .startToken)
    TokenSeal(keys: try keys(keyText)).seal(tokenOf: &report)
    #expect(report.token == nil)
    #expect(try TokenSeal(keys: nil).open(tokenOf: report) == nil)
    report.token = "c0ffee"
    TokenSeal(keys: nil).seal(tokenOf: &report)
    #expect(report.token == "c0ffee")
}

@Test func `the longest sealed token fits into a report, and nothing else looks sealed`() throws {
    let seal = TokenSeal(keys: try keys(keyText.replacing("key 1 ", with: "key 999999 ")))
    var report = Report(app: "shop", environment: .production, installation: "i1", kind: .startToken)
    report.token = String(repeating: "ab", count: PushToken.bytesMax)
    seal.seal(tokenOf: &report)
    #expect(report.isTokenSealed)
    #expect(try Report.decode(report.encoded(), with: JSONReader()) == report)
    for text in [
        "", "s", "s.", "s1", "s1.", "s.AAAA", "sx.AAAA", "s1234567.AAAA", "s1.A A", "s1.AA=", "c0ffee",
        "s1." + String(repeating: "A", count: 600),
    ] {
        report.token = text
        #expect(!report.isTokenSealed, "\(text)")
    }
}

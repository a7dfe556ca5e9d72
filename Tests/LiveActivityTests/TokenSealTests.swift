import Foundation
import JSON
import Testing

@testable import LiveActivity

private let keyText = """
    # a comment
    hash \(String(repeating: "ab", count: 32))
    key 1 \(String(repeating: "01", count: 32))

    """
private let rotatedText = keyText + "key 7 \(String(repeating: "07", count: 32))\n"

private func keys(_ text: String) throws -> SealingKeys { try SealingKeys(lines: Array(text.utf8)[...]) }
private let token = PushToken(hex: String(repeating: "c0ffee12", count: 20))!

@Test func `a sealed token opens only for its app and its row`() throws {
    let seal = TokenSeal(try keys(keyText))
    let sealed = seal.seal(token, app: "shop", entry: "update:a1")
    #expect(sealed.hasPrefix("s1."))
    #expect(!sealed.contains("c0ffee"))
    #expect(try seal.open(sealed, app: "shop", entry: "update:a1") == token)
    #expect(throws: TokenSeal.Failure.wrongPlace) { try seal.open(sealed, app: "shop", entry: "update:a2") }
    #expect(throws: TokenSeal.Failure.wrongPlace) { try seal.open(sealed, app: "shop2", entry: "update:a1") }
}

@Test func `the same token in the same row seals to the same bytes, another row or token to others`() throws {
    let seal = TokenSeal(try keys(keyText))
    let sealed = seal.seal(token, app: "shop", entry: "update:a1")
    #expect(TokenSeal(try keys(keyText)).seal(token, app: "shop", entry: "update:a1") == sealed)
    #expect(seal.seal(token, app: "shop", entry: "update:a2") != sealed)
    #expect(seal.seal(PushToken(hex: "c0ffee13")!, app: "shop", entry: "update:a1") != sealed)
}

@Test func `after a rotation the old opens, the new key seals, and hashes stay`() throws {
    let old = TokenSeal(try keys(keyText))
    let new = TokenSeal(try keys(rotatedText))
    let sealed = old.seal(token, app: "shop", entry: "start:Match")
    #expect(try new.open(sealed, app: "shop", entry: "start:Match") == token)
    let resealed = new.seal(token, app: "shop", entry: "start:Match")
    #expect(resealed.hasPrefix("s7."))
    #expect(throws: TokenSeal.Failure.unknownKey(7)) {
        try old.open(resealed, app: "shop", entry: "start:Match")
    }
    #expect(old.hash(token) == new.hash(token))
}

@Test func `without keys tokens travel in the clear, and it says so`() throws {
    let seal = TokenSeal(nil)
    #expect(!seal.isSealing)
    let stored = seal.seal(token, app: "shop", entry: "update:a1")
    #expect(stored == String(decoding: token.hex, as: UTF8.self))
    #expect(try TokenSeal(try keys(keyText)).open(stored, app: "shop", entry: "update:a1") == token)
    #expect(seal.hash(token) != TokenSeal(try keys(keyText)).hash(token))
}

@Test(arguments: [
    "", "s", "s1", "s1.", "s1.###", "sx.AAAA", "s1.AAAA", "s1." + String(repeating: "A", count: 60), "zz",
    "abc",
])
func `damaged text never opens and never traps`(stored: String) throws {
    let seal = TokenSeal(try keys(keyText))
    #expect(throws: TokenSeal.Failure.self) { try seal.open(stored, app: "shop", entry: "update:a1") }
}

@Test(arguments: [
    ("", "needs one line"), ("hash abc", "line 1 does not end in 64"),
    ("hash \(String(repeating: "ab", count: 32))", "needs one line"),
    ("\n\nkey 0 \(String(repeating: "01", count: 32))", "line 3 is neither"),
    (keyText + "key 1 \(String(repeating: "02", count: 32))", "line 4 has the number"),
    (keyText + "hash \(String(repeating: "02", count: 32))", "line 4 is a second hash key"),
])
func `a wrong key file is told by its line, never by its content`(text: String, sentence: String) {
    do {
        _ = try keys(text)
        Issue.record("it was taken")
    } catch {
        #expect("\(error)".contains(sentence), "\(error)")
        #expect(!"\(error)".contains("0101") && !"\(error)".contains("abab"))
    }
}

@Test func `a key file that others can read is refused, and a made one is taken`() throws {
    let path = NSTemporaryDirectory() + "seal-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let made = FileManager.default.createFile(
        atPath: path, contents: Data(SealingKeys.makeText().utf8), attributes: [.posixPermissions: 0o644])
    #expect(made)
    #expect(throws: SealingKeys.Problem.self) { try SealingKeys(file: path) }
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    #expect(TokenSeal(try SealingKeys(file: path)).isSealing)
    #expect(throws: SealingKeys.Problem.self) { try SealingKeys(file: path + ".not-there") }
}

@Test func `rows and tokens that read alike when joined never share a nonce`() throws {
    let seal = TokenSeal(try keys(keyText))
    let tail: [UInt8] = [0xC0, 0xFF]
    let long = seal.seal(PushToken(bytes: Array("b".utf8) + tail)!, app: "shop", entry: "update:a")
    let short = seal.seal(PushToken(bytes: tail)!, app: "shop", entry: "update:ab")
    // The nonce stands in front: 12 bytes are 16 letters.
    #expect(long.dropFirst(3).prefix(16) != short.dropFirst(3).prefix(16))
}

@Test(arguments: [Report.Kind.startToken, .updateToken, .heartbeat])
func `a report's token is sealed for the row that it will stand in, and opens again`(
    kind: Report.Kind
) throws {
    let seal = TokenSeal(try keys(keyText))
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
    #expect(try seal.open(tokenOf: plain) == token, "what a service without keys wrote")
    var moved = report
    moved.app = "bank"
    #expect(throws: TokenSeal.Failure.wrongPlace) { try seal.open(tokenOf: moved) }
}

@Test func `without keys, and without a token, a report stays as it is`() throws {
    var report = Report(app: "shop", environment: .production, installation: "i1", kind: .startToken)
    TokenSeal(try keys(keyText)).seal(tokenOf: &report)
    #expect(report.token == nil)
    #expect(try TokenSeal(nil).open(tokenOf: report) == nil)
    report.token = "c0ffee"
    TokenSeal(nil).seal(tokenOf: &report)
    #expect(report.token == "c0ffee")
}

@Test func `the longest token is sealed into what a report may hold, and nothing else looks sealed`() throws {
    let seal = TokenSeal(try keys(keyText.replacingOccurrences(of: "key 1 ", with: "key 999999 ")))
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

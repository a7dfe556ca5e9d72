import Foundation
import Identifiers
import JSON
import RecordFormat
import Testing

@testable import TokenSealing

// The sealing of tokens, the files of keys, and their rotation.

private let keyText = """
    # a comment
    hash \(String(repeating: "ab", count: 32))
    key 1 \(String(repeating: "01", count: 32))

    """
private let rotatedText = keyText + "key 7 \(String(repeating: "07", count: 32))\n"

/// Reads the keys of a key file.
private func makeKeys(_ text: String) throws -> SealingKeys { try SealingKeys(lines: Array(text.utf8)[...]) }
private let token = PushToken(hex: String(repeating: "c0ffee12", count: 20))!

@Test func `a sealed token opens only for its app and row`() throws {
    let seal = TokenSeal(keys: try makeKeys(keyText))
    let sealed = seal.seal(token, app: "shop", entry: "update:a1")
    #expect(sealed.hasPrefix("s1."))
    #expect(!sealed.contains("c0ffee"))
    #expect(try seal.open(sealed, app: "shop", entry: "update:a1") == token)
    #expect(throws: TokenSeal.Failure.sealedForAnotherRow) {
        try seal.open(sealed, app: "shop", entry: "update:a2")
    }
    #expect(throws: TokenSeal.Failure.sealedForAnotherRow) {
        try seal.open(sealed, app: "shop2", entry: "update:a1")
    }
}

@Test func `a token seals to the same bytes in the same row, and to other bytes elsewhere`() throws {
    let seal = TokenSeal(keys: try makeKeys(keyText))
    let sealed = seal.seal(token, app: "shop", entry: "update:a1")
    #expect(TokenSeal(keys: try makeKeys(keyText)).seal(token, app: "shop", entry: "update:a1") == sealed)
    #expect(seal.seal(token, app: "shop", entry: "update:a2") != sealed)
    #expect(seal.seal(PushToken(hex: "c0ffee13")!, app: "shop", entry: "update:a1") != sealed)
}

@Test func `after a rotation the old key opens, the new key seals, and hashes stay`() throws {
    let oldSeal = TokenSeal(keys: try makeKeys(keyText))
    let newSeal = TokenSeal(keys: try makeKeys(rotatedText))
    let sealed = oldSeal.seal(token, app: "shop", entry: "start:Match")
    #expect(try newSeal.open(sealed, app: "shop", entry: "start:Match") == token)
    let resealed = newSeal.seal(token, app: "shop", entry: "start:Match")
    #expect(resealed.hasPrefix("s7."))
    #expect(throws: TokenSeal.Failure.unknownKey(7)) {
        try oldSeal.open(resealed, app: "shop", entry: "start:Match")
    }
    #expect(oldSeal.hash(of: token) == newSeal.hash(of: token))
}

@Test func `without keys tokens are stored in plain text`() throws {
    let seal = TokenSeal(keys: nil)
    #expect(!seal.isSealing)
    let stored = seal.seal(token, app: "shop", entry: "update:a1")
    #expect(stored == String(decoding: token.hex, as: UTF8.self))
    #expect(try TokenSeal(keys: try makeKeys(keyText)).open(stored, app: "shop", entry: "update:a1") == token)
    #expect(seal.hash(of: token) != TokenSeal(keys: try makeKeys(keyText)).hash(of: token))
}

@Test(arguments: [
    "", "s", "s1", "s1.", "s1.###", "sx.AAAA", "s1.AAAA", "s1." + String(repeating: "A", count: 60), "zz",
    "abc",
])
func `damaged text never opens and never traps`(stored: String) throws {
    let seal = TokenSeal(keys: try makeKeys(keyText))
    #expect(throws: TokenSeal.Failure.self) { try seal.open(stored, app: "shop", entry: "update:a1") }
}

@Test(arguments: [
    ("", "needs one line"), ("hash abc", "line 1 does not end in 64"),
    ("hash \(String(repeating: "ab", count: 32))", "needs one line"),
    ("\n\nkey 0 \(String(repeating: "01", count: 32))", "line 3 is neither"),
    (keyText + "key 1 \(String(repeating: "02", count: 32))", "line 4 has the number"),
    (keyText + "hash \(String(repeating: "02", count: 32))", "line 4 is a second hash key"),
])
func `an error in a key file names the line and never its content`(text: String, sentence: String) {
    do {
        _ = try makeKeys(text)
        Issue.record("a wrong key file was accepted")
    } catch {
        #expect("\(error)".contains(sentence), "\(error)")
        #expect(!"\(error)".contains("0101") && !"\(error)".contains("abab"))
    }
}

@Test func `a key file that others can read is refused, and a new one is accepted`() throws {
    let path = NSTemporaryDirectory() + "seal-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let isCreated = FileManager.default.createFile(
        atPath: path, contents: Data(SealingKeys.makeText().utf8), attributes: [.posixPermissions: 0o644])
    #expect(isCreated)
    #expect(throws: SealingKeys.Problem.self) { try SealingKeys(file: path) }
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    #expect(TokenSeal(keys: try SealingKeys(file: path)).isSealing)
    #expect(throws: SealingKeys.Problem.self) { try SealingKeys(file: path + ".not-there") }
}

@Test func `rows and tokens with the same concatenation never share a nonce`() throws {
    let seal = TokenSeal(keys: try makeKeys(keyText))
    let tail: [UInt8] = [0xC0, 0xFF]
    let long = seal.seal(PushToken(bytes: Array("b".utf8) + tail)!, app: "shop", entry: "update:a")
    let short = seal.seal(PushToken(bytes: tail)!, app: "shop", entry: "update:ab")
    // The nonce comes first: 12 bytes are 16 characters.
    #expect(long.dropFirst(3).prefix(16) != short.dropFirst(3).prefix(16))
}

/// Returns the catalog's record after a process with these keys has started.
private func recordAfterStart(withKeys text: String, recorded previous: SealingRecord?) throws
    -> SealingRecord?
{
    switch SealingKeys.verdict(on: try makeKeys(text), recorded: previous, now: 5) {
    case .accepted: return previous
    case .acceptedWithNewRecord(let record):
        #expect(try SealingRecord.decode(record.encoded(), with: JSONReader()) == record)
        #expect(previous.map(record.extends) ?? true)
        return record
    case .refused(let reason):
        Issue.record("\(reason)")
        return nil
    }
}

/// Returns the reason for which a process with these keys does not start.
private func refusal(ofKeys text: String?, recorded previous: SealingRecord?) throws -> String? {
    let verdict = SealingKeys.verdict(on: try text.map(makeKeys), recorded: previous, now: 5)
    if case .refused(let reason) = verdict { return reason }
    return nil
}

@Test func `the first process records the installation's keys, and other keys are refused`() throws {
    #expect(SealingKeys.verdict(on: nil, recorded: nil, now: 5) == .accepted)
    let first = try #require(try recordAfterStart(withKeys: keyText, recorded: nil))
    #expect(try recordAfterStart(withKeys: keyText, recorded: first) == first)
    #expect(
        try refusal(ofKeys: nil, recorded: first)?.contains("name the file with tokens.sealing-keys-file")
            == true)
    let otherHash = keyText.replacingOccurrences(of: "hash ab", with: "hash ac")
    #expect(
        try refusal(ofKeys: otherHash, recorded: first)?.contains("not this installation's sealing keys")
            == true)
    let sameNumber = keyText.replacingOccurrences(of: "key 1 01", with: "key 1 02")
    #expect(
        try refusal(ofKeys: sameNumber, recorded: first)?.contains("a new key needs a new number") == true)
    let record = String(decoding: first.encoded(), as: UTF8.self)
    #expect(!record.contains("0101") && !record.contains("abab"))
}

@Test func `keys rotate one process at a time, and a process that lacks a key does not start`() throws {
    let first = try #require(try recordAfterStart(withKeys: keyText, recorded: nil))
    let parts = keyText.components(separatedBy: "key 1")
    // First the new key is in the line before the old key: it opens and does not seal yet.
    let prepared = "\(parts[0])key 7 \(String(repeating: "07", count: 32))\nkey 1\(parts[1])"
    #expect(try recordAfterStart(withKeys: prepared, recorded: first) == first)
    // Then it is in the last line and seals.
    let second = try #require(try recordAfterStart(withKeys: rotatedText, recorded: first))
    #expect(second.newestKeyNumber == 7 && second.keys.map(\.number) == [1, 7])
    #expect(
        try recordAfterStart(withKeys: prepared, recorded: second) == second,
        "a process that has not rotated yet may start")
    #expect(try refusal(ofKeys: keyText, recorded: second)?.contains("sealed with key 7") == true)
    // Finally the old key is removed.
    let last = rotatedText.split(separator: "\n").filter { !$0.hasPrefix("key 1") }.joined(separator: "\n")
    #expect(try recordAfterStart(withKeys: last, recorded: second) == second)
    #expect(
        try refusal(ofKeys: last + "\nkey 1 \(String(repeating: "09", count: 32))", recorded: second) != nil)
}

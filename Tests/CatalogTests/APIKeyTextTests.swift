import CatalogRecords
import Cryptography
import RecordFormat
import Telemetry
import Testing

@testable import Catalog

// The texts of API keys: what they contain, and which texts are refused.

@Test func `a new key reads back as its record, which does not contain the secret`() throws {
    let (text, record) = APIKeyText.makeKey(app: "shop", role: .report, atMilliseconds: 7)
    let beginning = "flotilla_report_\(record.id)_"
    #expect(text.hasPrefix(beginning))
    // A secret of 43 characters and a checksum of six.
    #expect(record.id.utf8.count == 12 && text.utf8.count == beginning.utf8.count + 43 + 6)
    let key = try #require(APIKeyText(text))
    #expect(key.id == record.id && key.secretHash == record.secretHash)
    let secret = text.dropFirst(beginning.count).dropLast(6)
    #expect(record.secretHash == SHA256.digest(of: Array(secret.utf8)))
    #expect(!String(decoding: record.encoded(), as: UTF8.self).contains(secret))
}

@Test func `all keys are different`() {
    let keys = (0..<1000).map { _ in APIKeyText.makeKey(app: "a", role: .send, atMilliseconds: 0) }
    #expect(Set(keys.map(\.text)).count == 1000)
    #expect(Set(keys.map(\.record.id)).count == 1000)
}

@Test func `a key with any character changed, removed or added is invalid`() {
    let text = APIKeyText.makeKey(app: "shop", role: .admin, atMilliseconds: 0).text
    for index in text.indices {
        var changed = text
        changed.replaceSubrange(index...index, with: text[index] == "x" ? "y" : "x")
        #expect(APIKeyText(changed) == nil, "\(changed)")
        var shorter = text
        shorter.remove(at: index)
        #expect(APIKeyText(shorter) == nil)
        var longer = text
        longer.insert("0", at: index)
        #expect(APIKeyText(longer) == nil)
    }
    for text in ["", "_", "____", "flotilla___", text + "\n", " " + text] { #expect(APIKeyText(text) == nil) }
}

@Test func `the checksum is the standard CRC-32`() {
    #expect(CRC32.checksum(of: "123456789".utf8) == 0xCBF4_3926)
    #expect(Base62.encode(0, digits: 6).elementsEqual("000000".utf8))
    #expect(Base62.encode(.max, digits: 6).elementsEqual("4gfFC3".utf8))
}

@Test(arguments: APIKey.Role.allCases)
func `a key never reaches the log`(_ role: APIKey.Role) {
    let text = APIKeyText.makeKey(app: "shop", role: role, atMilliseconds: 0).text
    #expect(Redaction.scrub("found \(text), twice \(text)") == "found <redacted>, twice <redacted>")
    #expect(
        Redaction.scrub("flotilla_gateway_requests_turned_away_total")
            == "flotilla_gateway_requests_turned_away_total")
}

import Cryptography
import Foundation
import Telemetry
import Testing

@testable import APNs

@Test func `a provider token has the documented form and a valid signature`() throws {
    let key = SigningKey()
    let token = ProviderToken.make(
        teamID: "ABCDE12345", keyID: "KEY1234567", key: key, at: WallTime(milliseconds: 1_763_600_000_500))
    let parts = token.split(separator: ".").map(String.init)
    #expect(parts.count == 3)
    #expect(
        Base64URL.decode(parts[0]).map { String(decoding: $0, as: UTF8.self) }
            == #"{"alg":"ES256","kid":"KEY1234567"}"#)
    #expect(
        Base64URL.decode(parts[1]).map { String(decoding: $0, as: UTF8.self) }
            == #"{"iss":"ABCDE12345","iat":1763600000}"#)
    let signature = try #require(Base64URL.decode(parts[2]))
    #expect(key.verifyingKey.isValidSignature(signature, of: Array("\(parts[0]).\(parts[1])".utf8)))
}

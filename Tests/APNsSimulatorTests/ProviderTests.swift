import APNs
import Cryptography
import JSON
import Telemetry
import Testing

@testable import APNsSimulator

/// The rules for a connection and its provider tokens.
@Suite struct ProviderTests {
    @Test func `a connection is bound to the key of its first push`() async throws {
        let other = SigningKey()
        let simulator = try RunningSimulator {
            $0.keys = [
                ProviderKey(
                    keyID: "OTHERKEY01", teamID: SimulatorCredentials.teamID, key: other.verifyingKey)
            ]
        }
        let client = simulator.client()
        #expect(await client.send(.push(simulator.makeProviderToken())).status == 200)
        let answer = await client.send(.push(simulator.makeProviderToken(keyID: "OTHERKEY01", key: other)))
        #expect(answer.status == 403 && answer.reason == "UnrelatedKeyIdInToken")
        #expect(
            await simulator.client().send(.push(simulator.makeProviderToken(keyID: "OTHERKEY01", key: other)))
                .status
                == 200)
    }

    @Test func `a new token needs 20 minutes after the previous one, and the old one is still valid`()
        async throws
    {
        let simulator = try RunningSimulator()
        let client = simulator.client()
        let first = simulator.makeProviderToken(age: 1_800)
        #expect(await client.send(.push(first)).status == 200)
        let tooSoon = await client.send(.push(simulator.makeProviderToken(age: 900)))
        #expect(tooSoon.status == 429 && tooSoon.reason == "TooManyProviderTokenUpdates")
        #expect(await client.send(.push(first)).status == 200)
        let second = simulator.makeProviderToken(age: 0)
        #expect(await client.send(.push(second)).status == 200)
        // Signing the same claims again makes another token.
        let sameClaims = await client.send(.push(simulator.makeProviderToken(age: 0)))
        #expect(sameClaims.reason == "TooManyProviderTokenUpdates")
    }

    @Test(arguments: [
        "-9223372036854775808", "9223372036854775807", "9223372036854775808", "-1", "253402300800", "1e18",
        "\"\"", "\"soon\"", "\"-1\"", "\"nan\"", "\"inf\"", "-0.5", "null", "[]", "{}", "true",
    ])
    func `a well-signed token with an impossible time is invalid`(issuedAt: String) throws {
        #expect(try verdict(issuedAt: issuedAt, at: 1_763_632_800).reason == .invalidProviderToken)
    }

    @Test(arguments: [
        ("1763632800", ProviderTokenWarning?.none), ("1763632800.5", .issuedAtIsFractional),
        ("1.7636328e9", .issuedAtIsFractional),
        ("\"1763632800\"", .issuedAtIsText), ("\"1763632800.25\"", .issuedAtIsText),
    ])
    func `a time with a fraction or as a string is accepted with a warning`(
        issuedAt: String, warning: ProviderTokenWarning?
    ) throws {
        let onTime = try verdict(issuedAt: issuedAt, at: 1_763_632_800 + 3_600)
        #expect(onTime.reason == nil && onTime.warning == warning)
        let tooLate = try verdict(issuedAt: issuedAt, at: 1_763_632_800 + 3_601)
        #expect(tooLate.reason == .expiredProviderToken)
    }

    /// Verifies at a time a well-signed token with that `iat`. Returns the reason if it is refused, and the warning if
    /// it is valid but doubtful.
    private func verdict(
        issuedAt: String, at seconds: Int64
    ) throws -> (reason: APNsReason?, warning: ProviderTokenWarning?) {
        let key = SigningKey()
        let verifier = ProviderTokenVerifier(
            keys: [ProviderKey(keyID: "KEY0000001", teamID: "TEAM000001", key: key.verifyingKey)],
            reader: .init())
        let parts = [#"{"alg":"ES256","kid":"KEY0000001"}"#, #"{"iss":"TEAM000001","iat":\#(issuedAt)}"#]
        let signed = parts.map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
        let token = signed + "." + Base64URL.encode(key.sign(Array(signed.utf8)))
        let header = Array("bearer \(token)".utf8)
        return switch verifier.verify(authorization: header.span, last: nil, at: seconds) {
        case .valid(let provider): (nil, provider.warning)
        case .refused(let reason): (reason, nil)
        }
    }

    @Test func `the age of a token is checked each time, also after the token was verified`() throws {
        let key = SigningKey()
        let verifier = ProviderTokenVerifier(
            keys: [ProviderKey(keyID: "KEY0000001", teamID: "TEAM000001", key: key.verifyingKey)],
            reader: .init())
        let token = ProviderToken.make(
            teamID: "TEAM000001", keyID: "KEY0000001", key: key, at: .init(milliseconds: 1_000_000_000))
        let header = Array("bearer \(token)".utf8)
        func reason(at seconds: Int64) -> APNsReason? {
            switch verifier.verify(authorization: header.span, last: nil, at: seconds) {
            case .valid: nil
            case .refused(let reason): reason
            }
        }
        #expect(reason(at: 1_000_000) == nil)
        #expect(reason(at: 1_003_600) == nil)
        #expect(reason(at: 1_003_601) == .expiredProviderToken)
        // A token from the future is refused with the same reason. Five minutes are tolerated.
        #expect(reason(at: 999_700) == nil)
        #expect(reason(at: 999_699) == .expiredProviderToken)
    }

    @Test(arguments: [
        #"{"alg":"HS256","kid":"KEY0000001"}"#, #"{"alg":"ES256"}"#, #"{"kid":"KEY0000001"}"#, "[]", "",
    ])
    func `a header of another kind is not a provider token`(header: String) {
        #expect(!isValid(header: header, claims: #"{"iss":"TEAM000001","iat":1000000}"#))
    }

    @Test(arguments: [
        #"{"iss":"TEAM000001"}"#, #"{"iat":1000000}"#, #"{"iss":1,"iat":1000000}"#, "{",
    ])
    func `claims of another kind are not a provider token`(claims: String) {
        #expect(!isValid(header: #"{"alg":"ES256","kid":"KEY0000001"}"#, claims: claims))
    }

    @Test func `a provider token may order its fields differently`() {
        #expect(
            isValid(
                header: #"{"typ":"JWT","kid":"KEY0000001","alg":"ES256"}"#,
                claims: #"{"iat":1000000,"iss":"TEAM000001","exp":1}"#))
    }

    /// Returns whether a well-signed token with this header and these claims is accepted.
    private func isValid(header: String, claims: String) -> Bool {
        let key = SigningKey()
        let signed = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
        let token = signed + "." + Base64URL.encode(key.sign(Array(signed.utf8)))
        let verifier = ProviderTokenVerifier(
            keys: [ProviderKey(keyID: "KEY0000001", teamID: "TEAM000001", key: key.verifyingKey)],
            reader: .init())
        let header = Array("Bearer \(token)".utf8)
        if case .valid = verifier.verify(authorization: header.span, last: nil, at: 1_000_000) {
            return true
        }
        return false
    }
}

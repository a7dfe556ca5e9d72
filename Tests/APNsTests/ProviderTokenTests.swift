import Cryptography
import Foundation
import Lifecycle
import Telemetry
import Testing

@testable import APNs

// Provider tokens: their form and signature, and when they are replaced.

/// Returns the instant so many minutes after the start.
private func minutes(_ count: Int) -> Instant { Instant(nanoseconds: Int64(count) * 60_000_000_000) }

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

/// Returns the wall clock so many minutes after the start.
private func wall(_ minute: Int) -> WallTime {
    WallTime(milliseconds: 1_763_600_000_000 + Int64(minute) * 60_000)
}

@Test func `a token is made once and again after fifty minutes`() {
    var policy = ProviderTokenPolicy()
    #expect(policy.decide(at: minutes(0), wall: wall(0)) == .make)
    policy.recordToken(at: minutes(0), wall: wall(0))
    for minute in 0..<50 { #expect(policy.decide(at: minutes(minute), wall: wall(minute)) == .keep) }
    #expect(policy.decide(at: minutes(50), wall: wall(50)) == .make)
}

@Test func `an expired token is replaced once, and never within twenty minutes`() {
    var policy = ProviderTokenPolicy()
    policy.recordToken(at: minutes(0), wall: wall(0))
    let tooSoon = policy.handleExpired(at: minutes(19), isMisdated: false)
    #expect(!tooSoon)
    #expect(policy.decide(at: minutes(19), wall: wall(19)) == .keep)
    let inTime = policy.handleExpired(at: minutes(20), isMisdated: false)
    #expect(inTime)
    #expect(policy.decide(at: minutes(20), wall: wall(20)) == .make)
    policy.recordToken(at: minutes(20), wall: wall(20))
    #expect(policy.decide(at: minutes(20), wall: wall(20)) == .keep)
    let again = policy.handleExpired(at: minutes(21), isMisdated: false)
    #expect(!again, "these are answers to pushes that were in flight")
}

@Test func `after too many updates the current token stays in use until Apple's limit`() {
    var policy = ProviderTokenPolicy()
    policy.recordToken(at: minutes(0), wall: wall(0))
    policy.handleTooMany(at: minutes(45))
    #expect(policy.decide(at: minutes(55), wall: wall(55)) == .keep)
    #expect(policy.decide(at: minutes(60), wall: wall(60)) == .make)
    policy.recordToken(at: minutes(60), wall: wall(60))
    #expect(policy.decide(at: minutes(66), wall: wall(66)) == .keep)
    #expect(policy.decide(at: minutes(110), wall: wall(110)) == .make)
}

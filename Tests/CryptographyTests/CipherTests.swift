import Testing

@testable import Cryptography

/// Hashes, HMAC, AES-GCM, base64 and secrets, with published vectors.
@Suite struct CipherTests {
    /// Returns the bytes that the hexadecimal digits stand for.
    private func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex.utf8)
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)!
        }
    }

    @Test func `SHA-256 gives the values of FIPS 180`() {
        #expect(
            SHA256.digest(of: Array("abc".utf8))
                == bytes("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
        #expect(
            SHA256.digest(of: []) == bytes("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        )
    }

    @Test func `HMAC-SHA256 gives the value of RFC 4231 repeatedly with one key`() {
        let hmac = HMACSHA256(key: SecretBytes(copying: Array("Jefe".utf8)))
        for _ in 0..<3 {
            #expect(
                hmac.authenticationCode(for: Array("what do ya want for nothing?".utf8))
                    == bytes("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"))
        }
    }

    /// The second case is test 6 of RFC 4231. The other values come from another implementation.
    @Test(arguments: [
        (
            [UInt8](0..<64), "sixty-four",
            "ddc89972fd68037feaba8b86463cb6e993dc97072bfa393bd87ef0bfa9a82028"
        ),
        (
            [UInt8](repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        ([], "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
    ])
    func `HMAC-SHA256 accepts keys of a block, longer keys and an empty key`(
        _ key: [UInt8], _ message: String, _ code: String
    ) {
        let hmac = HMACSHA256(key: SecretBytes(copying: key))
        for _ in 0..<2 { #expect(hmac.authenticationCode(for: Array(message.utf8)) == bytes(code)) }
    }

    @Test func `AES-256-GCM gives the values of the GCM specification`() {
        let cipher = AES256GCM(key: SecretBytes(copying: [UInt8](repeating: 0, count: 32)))
        let nonce = [UInt8](repeating: 0, count: 12)
        #expect(cipher.seal([], nonce: nonce) == nonce + bytes("530f8afbc74536b9a963b4f1c4cb738b"))
        #expect(
            cipher.seal([UInt8](repeating: 0, count: 16), nonce: nonce)
                == nonce + bytes("cea7403d4d606b6e074ec5d3baf39d18")
                + bytes("d0d1c8a799996bf0265b98b5d48ab919"))
    }

    @Test func `sealed bytes open only with the same key and authenticated bytes`() {
        let key = Random.bytes(count: 32)
        let cipher = AES256GCM(key: SecretBytes(copying: key))
        for count in [0, 1, 15, 16, 17, 100, 4_000] {
            let message = Random.bytes(count: count)
            let sealed = cipher.seal(message, nonce: Random.bytes(count: 12), authenticating: [1, 2])
            #expect(sealed.count == count + AES256GCM.overheadBytes)
            #expect(cipher.open(sealed, authenticating: [1, 2]) == message)
            #expect(cipher.open(sealed, authenticating: [1, 3]) == nil)
            #expect(cipher.open(sealed) == nil)
            // The first and the last byte of the nonce, the byte after it, and the last byte of the tag.
            for index in [0, 11, 12, sealed.count - 1] where index < sealed.count {
                var changed = sealed
                changed[index] ^= 0x10
                #expect(cipher.open(changed, authenticating: [1, 2]) == nil)
            }
            #expect(cipher.open(Array(sealed.dropLast()), authenticating: [1, 2]) == nil)
            let other = AES256GCM(key: SecretBytes(copying: Random.bytes(count: 32)))
            #expect(other.open(sealed, authenticating: [1, 2]) == nil)
        }
        #expect(cipher.open([]) == nil)
        #expect(cipher.open([UInt8](repeating: 0, count: AES256GCM.overheadBytes - 1)) == nil)
    }

    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
    ])
    func `base64 gives the values of RFC 4648 without padding`(text: String, encoded: String) {
        #expect(Base64URL.encode(Array(text.utf8)) == encoded)
        #expect(Base64URL.decode(encoded) == Array(text.utf8))
    }

    @Test func `base64 encodes every byte and refuses text that it does not make`() {
        let all = (0...255).map { UInt8($0) }
        #expect(Base64URL.decode(Base64URL.encode(all)) == all)
        #expect(Base64URL.encode([0xFB, 0xFF]) == "-_8")
        for bad in ["Zg==", "Zh", "Z", "Zm9v+", "Zm/v", "Zm 9", "Zm9vYmFyZ"] {
            #expect(Base64URL.decode(bad) == nil)
        }
    }

    @Test func `secrets compare by content`() {
        #expect(isEqualInConstantTime([1, 2, 3], [1, 2, 3]))
        #expect(!isEqualInConstantTime([1, 2, 3], [1, 2, 4]))
        #expect(!isEqualInConstantTime([1, 2, 3], [1, 2]))
        #expect(isEqualInConstantTime([], []))
    }
}

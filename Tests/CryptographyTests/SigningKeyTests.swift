import Foundation
import ProcessTesting
import TLS
import Testing

@testable import Cryptography

/// Keys for ES256: signatures beside those of `openssl`, and keys that are refused.
@Suite struct SigningKeyTests {
    private func run(_ arguments: [String]) async throws -> ChildProcess {
        let process = try ChildProcess("openssl", arguments: arguments)
        #expect(try await process.exitStatus() == 0, "openssl \(arguments): \(process.errors)")
        return process
    }

    /// Lets only the owner read the file, as a signing key requires.
    private func protect(_ path: String) { #expect(chmod(path, 0o600) == 0) }

    @Test func `the openssl command verifies our signature`() async throws {
        let directory = try TemporaryDirectory()
        let pem = directory.filePath(named: "AuthKey.p8")
        _ = try await run(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", pem])
        protect(pem)
        let key = try SigningKey(file: pem)
        let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"ABCDE12345"}"#.utf8))
        let claims = Base64URL.encode(Array(#"{"iss":"TEAM123456","iat":1700000000}"#.utf8))
        let signed = "\(header).\(claims)"
        let signature = key.sign(Array(signed.utf8))
        #expect(signature.count == 64)
        #expect(key.verifyingKey.isValidSignature(signature, of: Array(signed.utf8)))
        let publicKey = try directory.writeFile(named: "public.pem", content: key.verifyingKey.pem)
        let message = try directory.writeFile(named: "message", content: signed)
        let der = directory.filePath(named: "signature")
        let bytes = try #require(ES256Signature.der(fromRaw: signature))
        try Data(bytes).write(to: URL(fileURLWithPath: der))
        let verification = try await run([
            "dgst", "-sha256", "-verify", publicKey, "-signature", der, message,
        ])
        #expect(verification.output.contains("Verified OK"))
    }

    @Test func `a key verifies signatures of the openssl command, and refuses changed ones`() async throws {
        let directory = try TemporaryDirectory()
        let pem = try directory.writeFile(named: "key.pem", content: SigningKey().pem)
        let publicPEM = directory.filePath(named: "public.pem")
        let message = try directory.writeFile(named: "message", content: "score 1:0")
        let der = directory.filePath(named: "signature")
        _ = try await run(["pkey", "-in", pem, "-pubout", "-out", publicPEM])
        let key = try VerifyingKey(file: publicPEM)
        // Each signature is random, and the lengths of their DER forms differ.
        for _ in 0..<5 {
            _ = try await run(["dgst", "-sha256", "-sign", pem, "-out", der, message])
            let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: der)))
            let raw = try #require(ES256Signature.raw(fromDER: bytes))
            #expect(key.isValidSignature(raw, of: Array("score 1:0".utf8)))
            #expect(!key.isValidSignature(raw, of: Array("score 0:1".utf8)))
            // The first and the last byte of each of the two numbers.
            for index in [0, 31, 32, 63] {
                var changed = raw
                changed[index] ^= 1
                #expect(!key.isValidSignature(changed, of: Array("score 1:0".utf8)))
            }
        }
        #expect(!key.isValidSignature([], of: []))
        #expect(!key.isValidSignature([UInt8](repeating: 0, count: 64), of: []))
        #expect(!key.isValidSignature([UInt8](repeating: 255, count: 64), of: []))
        #expect(!SigningKey().verifyingKey.isValidSignature([UInt8](repeating: 1, count: 65), of: []))
    }

    @Test func `an unusable key is refused with the reason`() async throws {
        let directory = try TemporaryDirectory()
        let rsa = directory.filePath(named: "rsa.pem")
        let curve = directory.filePath(named: "curve.pem")
        let encrypted = directory.filePath(named: "encrypted.pem")
        let good = try directory.writeFile(named: "good.pem", content: SigningKey().pem)
        _ = try await run(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", rsa])
        _ = try await run([
            "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384", "-out", curve,
        ])
        _ = try await run(["pkcs8", "-topk8", "-in", good, "-passout", "pass:x", "-out", encrypted])
        let certificate = try directory.writeFile(
            named: "certificate.pem", content: CertificateAuthority(name: "x").certificatePEM)
        let publicKey = try directory.writeFile(named: "public.pem", content: SigningKey().verifyingKey.pem)
        let empty = try directory.writeFile(named: "empty.pem", content: "")
        for path in [rsa, curve, encrypted, certificate, publicKey, empty] { protect(path) }
        #expect(refusal(of: rsa) == "key \(rsa) is an RSA key, not an elliptic-curve key (P-256)")
        #expect(refusal(of: curve) == "key \(curve) is on the curve secp384r1, not on P-256")
        #expect(refusal(of: encrypted) == "\(encrypted) is encrypted: give it without a password")
        #expect(refusal(of: certificate) == "\(certificate) holds a certificate, not a private key")
        #expect(refusal(of: publicKey) == "\(publicKey) holds a public key, not a private key")
        #expect(
            refusal(of: empty) == "\(empty) holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)")
        let pipe = directory.filePath(named: "pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(refusal(of: pipe) == "key \(pipe) is not a file")
    }

    @Test func `a key that users outside its owner's group can read is refused`() throws {
        let directory = try TemporaryDirectory()
        let key = try directory.writeFile(named: "key.pem", content: SigningKey().pem)
        #expect(chmod(key, 0o644) == 0)
        #expect(
            refusal(of: key)
                == "key \(key) can be read by others than its owner and the owner's group (mode 644): remove the rights of others (chmod o= FILE)"
        )
        // The mode in which Kubernetes mounts a secret for a group.
        #expect(chmod(key, 0o440) == 0)
        #expect(refusal(of: key) == nil)
        protect(key)
        #expect(refusal(of: key) == nil)
    }

    /// Returns the description of the error for the key in that file, or nil if the key is usable.
    private func refusal(of path: String) -> String? {
        do {
            _ = try SigningKey(file: path)
            return nil
        } catch { return error.description }
    }

    @Test func `a key survives its text form`() throws {
        let key = SigningKey()
        let reloaded = try SigningKey(pem: key.pem)
        #expect(reloaded.verifyingKey.pem == key.verifyingKey.pem)
        #expect(
            try VerifyingKey(pem: key.verifyingKey.pem).isValidSignature(reloaded.sign([1, 2]), of: [1, 2]))
    }
}

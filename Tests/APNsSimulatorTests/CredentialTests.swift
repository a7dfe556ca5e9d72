import Cryptography
import Foundation
import HTTP2
import ProcessTesting
import TLS
import Testing

@testable import APNsSimulator

/// The keys and certificates that the simulator makes and keeps.
@Suite struct CredentialTests {
    @Test func `a directory keeps the CA and the key, and only its owner can read the key`() async throws {
        let directory = try TemporaryDirectory()
        let made = try SimulatorCredentials(directory: directory.path)
        let again = try SimulatorCredentials(directory: directory.path)
        #expect(again.keyID == made.keyID && made.keyID.utf8.count == 10)
        #expect(again.authority.certificatePEM == made.authority.certificatePEM)
        #expect(again.signingKey.pem == made.signingKey.pem)
        for name in ["AuthKey_\(made.keyID).p8", "ca-key.pem"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: directory.filePath(named: name))
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 3)

        let subject = try RunningSimulator(credentials: again)
        let token = subject.token(
            key: try SigningKey(file: directory.filePath(named: "AuthKey_\(made.keyID).p8")))
        #expect(await subject.client().send(.push(token)).status == 200)
    }

    @Test func `a missing directory is reported`() {
        #expect(throws: (any Error).self) { try SimulatorCredentials(directory: "/nowhere/at/all") }
    }

    @Test func `clients reject an expired certificate`() async throws {
        let subject = try RunningSimulator { $0.certificateDays = -1 }
        let client = subject.client()
        #expect(await client.send(.push(subject.token())).end == .notProcessed)
        #expect(client.closeReason?.contains("expired") == true)
    }
}

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
        let first = try SimulatorCredentials(directory: directory.path)
        let reloaded = try SimulatorCredentials(directory: directory.path)
        #expect(reloaded.keyID == first.keyID && first.keyID.utf8.count == 10)
        #expect(reloaded.authority.certificatePEM == first.authority.certificatePEM)
        #expect(reloaded.signingKey.pem == first.signingKey.pem)
        for name in ["AuthKey_\(first.keyID).p8", "ca-key.pem"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: directory.filePath(named: name))
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 3,
            "the key, the CA and its key")

        let simulator = try RunningSimulator(credentials: reloaded)
        let token = simulator.makeProviderToken(
            key: try SigningKey(file: directory.filePath(named: "AuthKey_\(first.keyID).p8")))
        #expect(await simulator.client().send(.push(token)).status == 200)
    }

    @Test func `a missing directory is reported`() {
        #expect(throws: (any Error).self) { try SimulatorCredentials(directory: "/nowhere/at/all") }
    }

    @Test func `clients reject an expired certificate`() async throws {
        let simulator = try RunningSimulator { $0.certificateDays = -1 }
        let client = simulator.client()
        #expect(await client.send(.push(simulator.makeProviderToken())).end == .notProcessed)
        #expect(client.closeReason?.contains("expired") == true)
    }
}

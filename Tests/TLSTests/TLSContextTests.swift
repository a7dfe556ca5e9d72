import Cryptography
import Foundation
import ProcessTesting
import Telemetry
import Testing

@testable import TLS

/// The files of a TLS context, and the certificates that an authority issues.
@Suite struct TLSContextTests {
    private func sentence(_ body: () throws -> TLSContext) -> String? {
        do {
            _ = try body()
            return nil
        } catch { return "\(error)" }
    }

    @Test func `an unusable file is named with the reason`() throws {
        let certificates = try Certificates()
        let identity = certificates.authority.issue(for: ["localhost"])
        let directory = certificates.directory
        let chain = try directory.writeFile(named: "chain.pem", content: identity.chainPEM)
        let key = try directory.writeFile(named: "key.pem", content: identity.keyPEM)
        let other = try directory.writeFile(named: "other.pem", content: SigningKey().pem)
        let garbage = try directory.writeFile(named: "garbage", content: "\0\u{1}\u{2}")
        let missing = directory.filePath(named: "missing")
        #expect(sentence { try .server(chain: .file(chain), key: .file(key)) } == nil)
        #expect(
            sentence { try .server(chain: .file(missing), key: .file(key)) }
                == "cannot read \(missing): no such file or directory")
        #expect(
            sentence { try .server(chain: .file(key), key: .file(key)) }
                == "\(key) holds a private key where a certificate in PEM form is needed")
        #expect(
            sentence { try .server(chain: .file(garbage), key: .file(key)) }
                == "\(garbage) holds no certificate where a certificate in PEM form is needed")
        #expect(
            sentence { try .server(chain: .file(chain), key: .file(chain)) }
                == "\(chain) holds a certificate, not a private key")
        #expect(
            sentence { try .server(chain: .file(chain), key: .file(other)) }
                == "certificate \(chain) does not belong to key \(other): use the key that it was made with, and put "
                + "the server's own certificate first")
        #expect(
            sentence { try .client(trust: .authorities(.file(garbage))) }
                == "\(garbage) holds no certificate where a certificate in PEM form is needed")
        #expect(
            sentence { try .client(trust: .authorities(.file(directory.path))) }
                == "\(directory.path) is not a file")
        let pipe = directory.filePath(named: "pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(sentence { try .server(chain: .file(pipe), key: .file(key)) } == "\(pipe) is not a file")
        // The year 2100.
        let later = WallTime(milliseconds: 4_102_444_800_000)
        #expect(
            sentence { try .server(chain: .file(chain), key: .file(key), at: later) }?
                .hasPrefix("certificate \(chain) expired on ") == true)
    }

    @Test func `a stored authority can issue certificates again`() throws {
        let certificates = try Certificates()
        let key = try certificates.directory.writeFile(
            named: "ca.key", content: certificates.authority.keyPEM)
        #expect(chmod(key, 0o600) == 0)
        let again = try CertificateAuthority(certificate: .file(certificates.caFile), key: .file(key))
        #expect(again.certificatePEM == certificates.authority.certificatePEM)
        let identity = again.issue(for: ["localhost"])
        #expect(sentence { try .server(chain: .text(identity.chainPEM), key: .text(identity.keyPEM)) } == nil)
        let stranger = CertificateAuthority(name: "Stranger").keyPEM
        #expect(throws: PEMError.self) {
            try CertificateAuthority(certificate: .file(certificates.caFile), key: .text(stranger))
        }
    }

    @Test func `openssl accepts our certificates`() async throws {
        let certificates = try Certificates()
        let identity = certificates.authority.issue(for: ["a.example", "10.1.2.3", "::1"])
        let chain = try certificates.directory.writeFile(named: "leaf.pem", content: identity.chainPEM)
        for name in [["-verify_hostname", "a.example"], ["-verify_ip", "10.1.2.3"], ["-verify_ip", "::1"]] {
            let options = ["-x509_strict", "-purpose", "sslserver", "-CAfile", certificates.caFile] + name
            let process = try ChildProcess("openssl", arguments: ["verify"] + options + [chain])
            #expect(try await process.exitStatus() == 0, "\(process.errors)")
        }
    }
}

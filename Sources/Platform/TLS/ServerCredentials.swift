package import Cryptography
internal import Glibc
internal import Lifecycle
internal import Telemetry

/// The certificate chain and the key of a server, from two files. A server can read them again while it runs,
/// because certificates are renewed every few weeks.
package final class ServerCredentials: Sendable {
    /// The result of a check of the files.
    package enum Refresh: Sendable, Equatable {
        case unchanged
        /// New connections use the new certificate.
        case renewed
        /// The files changed and cannot be used. The earlier certificate stays in use.
        case unusable(String)
    }

    /// The identity of a file's content: its device, number, size and time of change. A rename or a changed
    /// link is another file.
    private struct FileVersion: Equatable {
        private let numbers: [Int64]

        init?(path: String) {
            var facts = stat()
            guard unsafe stat(path, &facts) == 0 else { return nil }
            numbers = [
                Int64(truncatingIfNeeded: facts.st_dev), Int64(truncatingIfNeeded: facts.st_ino),
                Int64(facts.st_size), Int64(facts.st_mtim.tv_sec), Int64(facts.st_mtim.tv_nsec),
            ]
        }
    }

    private struct State {
        var context: TLSContext
        /// The files that were read last, whether they could be used or not.
        var versions: [FileVersion?]
    }

    private let certificateFile: String
    private let keyFile: String
    private let protocols: [String]
    private let state: TracedLock<State>

    /// Reads the files. Throws if they cannot be used.
    ///
    /// - Parameters:
    ///   - certificateFile: The server's certificate in PEM, followed by the intermediate certificates.
    ///   - keyFile: The private key in PEM, without a password.
    ///   - protocols: The protocols for ALPN. A client that offers none is accepted.
    package init(certificateFile: String, keyFile: String, protocols: [String]) throws(PEMError) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        self.protocols = protocols
        let versions = [FileVersion(path: certificateFile), FileVersion(path: keyFile)]
        let context = try Self.context(
            certificateFile: certificateFile, keyFile: keyFile, protocols: protocols)
        state = TracedLock(State(context: context, versions: versions))
    }

    /// Uses a certificate that does not change: there are no files, so `refresh` finds no change.
    package init(chain: String, key: String, protocols: [String]) throws(PEMError) {
        (certificateFile, keyFile, self.protocols) = ("", "", protocols)
        let context = try TLSContext.server(
            chain: .text(chain), key: .text(key), protocols: protocols, acceptsPeersWithoutALPN: true)
        state = TracedLock(State(context: context, versions: [nil, nil]))
    }

    /// The configuration for a new connection.
    package var context: TLSContext { state.withLock { $0.context } }

    /// Reads the files again if they have changed. While a renewal replaces one file after the other, they do
    /// not belong together. Then the next check succeeds.
    package func refresh() -> Refresh {
        let versions = [FileVersion(path: certificateFile), FileVersion(path: keyFile)]
        guard state.withLock({ $0.versions != versions }) else { return .unchanged }
        do throws(PEMError) {
            let context = try Self.context(
                certificateFile: certificateFile, keyFile: keyFile, protocols: protocols)
            state.withLock { $0 = State(context: context, versions: versions) }
            return .renewed
        } catch {
            state.withLock { $0.versions = versions }
            return .unusable("\(error)")
        }
    }

    private static func context(
        certificateFile: String, keyFile: String, protocols: [String]
    ) throws(PEMError) -> TLSContext {
        try TLSContext.server(
            chain: .file(certificateFile), key: .file(keyFile), protocols: protocols,
            acceptsPeersWithoutALPN: true)
    }
}

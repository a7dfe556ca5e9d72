internal import Cryptography
internal import HTTPServer
internal import Lifecycle
internal import TLS
internal import Telemetry

/// The TLS of a gateway, from the two files of its settings.
enum GatewayTLS {
    /// Makes the TLS. Returns nil if the settings name no files. Throws if they name only one file, or if the files
    /// cannot be used.
    static func make(for settings: GatewaySettings, log: Log) throws -> HTTPServerTLS? {
        switch (settings.certificateFile, settings.keyFile) {
        case (nil, nil): return nil
        case (let certificateFile?, let keyFile?):
            let credentials = try ServerCredentials(
                certificateFile: certificateFile, keyFile: keyFile, protocols: HTTPServerTLS.protocols)
            return HTTPServerTLS(credentials: credentials) { refresh in
                switch refresh {
                case .unchanged: break
                case .renewed:
                    log.info("uses a renewed certificate", .field("file", certificateFile))
                case .unusable(let problem):
                    log.error(
                        "the renewed certificate cannot be used, and the one before it stays in use; correct the files",
                        .field("problem", problem))
                }
            }
        case (.some, nil), (nil, .some):
            throw PEMError(
                "gateway.certificate-file and gateway.key-file belong together: set both, or none")
        }
    }
}

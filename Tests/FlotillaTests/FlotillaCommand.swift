import Foundation
import ProcessTesting
import Testing

/// The result of one run of the binary.
struct Answer {
    let status: Int32
    let output: String
    let errors: String
}

/// The exit statuses of the binary, with the numbers of `sysexits.h`. Scripts of operators depend on them.
enum ExitCode {
    /// The command line is wrong.
    static let usage: Int32 = 64
    /// The content of an input is wrong.
    static let dataError: Int32 = 65
    /// The named thing does not exist.
    static let noInput: Int32 = 66
    /// A broker or a port is not available.
    static let unavailable: Int32 = 69
    /// A file cannot be opened or created.
    static let cannotCreate: Int32 = 73
    /// Another process holds a lock.
    static let temporary: Int32 = 75
    /// A setting is wrong.
    static let configuration: Int32 = 78
}

/// Runs the binary with these arguments and waits for its end.
func flotilla(_ arguments: String..., environment: [String: String] = [:]) async throws -> Answer {
    try await flotilla(arguments, environment: environment)
}

func flotilla(_ arguments: [String], environment: [String: String] = [:]) async throws -> Answer {
    let process = try ChildProcess(
        builtProductPath(named: "flotilla"), arguments: arguments, environment: environment)
    let status = try await process.exitStatus()
    return Answer(status: status, output: process.output, errors: process.errors)
}

extension ChildProcess {
    /// Returns the address that a service of the process logged when it began to serve.
    func servingAddress(of service: String) throws -> String {
        let line = errors.split(separator: "\n").first { $0.contains(" \(service): serving") }
        let field = line?.split(separator: " ").first { $0.hasPrefix("address=") }
        return try #require(field.map { String($0.dropFirst("address=".count)) })
    }
}

internal import Glibc
internal import Lifecycle

/// `--token-file` of `flotilla report`: the push token comes from a file or from standard input, and so it is not in
/// the list of processes.
enum TokenFile {
    static let option = CommandOption.value(
        "--token-file", "a file with the push token, or - for standard input, instead of --token")
    /// The limit of the file. A token has at most a few hundred bytes.
    private static let bytesMax = 4096

    /// Returns the token, or nil without the option.
    static func token(for invocation: Invocation) throws -> String? {
        guard let path = invocation.options[option.name] else { return nil }
        if invocation.hasOption("--token") {
            throw CommandError(
                status: .usage, "give the token with --token or with --token-file, not with both")
        }
        let token = try text(ofFile: path == "-" ? "/dev/stdin" : path)
        if token.isEmpty {
            throw CommandError(
                status: .noInput, "\(path) has no token; write the token in hexadecimal into it")
        }
        return token
    }

    /// Returns the text without the blanks and the line end around it.
    private static func text(ofFile path: String) throws -> String {
        guard let file = unsafe fopen(path, "r") else {
            throw CommandError(
                status: .noInput, "cannot read \(path): \(SystemError.text(for: errno))")
        }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe fread($0.baseAddress, 1, $0.count, file) }
        guard count <= bytesMax else {
            throw CommandError(
                status: .dataError, "\(path) has more than \(bytesMax) bytes, so it is not a token")
        }
        let blanks = Array(" \t\r\n".utf8)
        let token = bytes.prefix(count).drop { blanks.contains($0) }
        let end = token.lastIndex { !blanks.contains($0) }
        return String(decoding: end.map { token[...$0] } ?? [], as: UTF8.self)
    }
}

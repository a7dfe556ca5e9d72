internal import CLinux
internal import Cryptography
internal import Glibc
internal import Lifecycle

extension KafkaSettings {
    /// Returns all problems of these settings at once, one sentence each. Reads files, but uses no network.
    package func problems() -> [String] {
        brokerProblems() + tlsProblems() + scramProblems() + propertyProblems()
    }

    private func brokerProblems() -> [String] {
        if brokers.isEmpty { return ["kafka.brokers is empty; name at least one broker as host:port"] }
        return brokers.filter { !Self.isHostAndPort($0) }.map {
            "kafka.brokers names \"\($0)\", which is not host:port with a port of 1 to 65535"
        }
    }

    private static func isHostAndPort(_ text: String) -> Bool {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return false }
        let host = text[..<colon]
        let portText = text[text.index(after: colon)...]
        guard portText.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let port = Int(portText), (1...65535).contains(port)
        else { return false }
        return !host.isEmpty && host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ",") }
    }

    private func tlsProblems() -> [String] {
        var problems: [String] = []
        let files: [(key: String, path: String?, check: (String) -> String?)] = [
            ("kafka.ca-file", certificateAuthorityFile, Self.fileProblem),
            ("kafka.certificate-file", certificateFile, Self.fileProblem),
            ("kafka.key-file", keyFile, Self.keyFileProblem),
            ("kafka.key-password-file", keyPasswordFile, PasswordFile.problem),
        ]
        for (key, path, check) in files {
            guard let path else { continue }
            if !security.usesTLS {
                problems.append(
                    "\(key) is set but kafka.security.protocol is \(security.rawValue); set it to tls or scram-tls"
                )
            } else if let reason = check(path) {
                problems.append("\(key) names \(path), which \(reason)")
            }
        }
        if (certificateFile == nil) != (keyFile == nil) {
            problems.append("kafka.certificate-file and kafka.key-file belong together; set both or neither")
        }
        if keyPasswordFile != nil, keyFile == nil {
            problems.append("kafka.key-password-file is set without kafka.key-file; set both, or remove it")
        }
        return problems
    }

    /// Returns the reason that a key file is unusable, or nil. librdkafka reads the key itself and does not
    /// check whether other users can read it.
    private static func keyFileProblem(at path: String) -> String? {
        do {
            close(try SecretFile.open(at: path).descriptor)
            return nil
        } catch {
            return error.reason
        }
    }

    /// Returns the reason that a file cannot be read, or nil.
    private static func fileProblem(at path: String) -> String? {
        // Without O_NONBLOCK, a named pipe would block for ever.
        let descriptor = unsafe linux_open(path, O_RDONLY | O_NONBLOCK, 0)
        guard descriptor >= 0 else { return "cannot be read: \(SystemError.text(for: errno))" }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            return "cannot be read: \(SystemError.text(for: errno))"
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return nil
        case S_IFDIR: return "cannot be read: it is a directory"
        default: return "cannot be read: it is not a file"
        }
    }

    private func scramProblems() -> [String] {
        guard security.usesSCRAM else {
            guard user != nil || passwordFile != nil else { return [] }
            return [
                "kafka.scram.user or kafka.scram.password-file is set but kafka.security.protocol is "
                    + "\(security.rawValue); set it to scram-tls"
            ]
        }
        var problems: [String] = []
        if user?.isEmpty ?? true {
            problems.append(
                "kafka.scram.user is missing; kafka.security.protocol \(security.rawValue) needs it")
        }
        if let passwordFile {
            if let reason = PasswordFile.problem(at: passwordFile) {
                problems.append("kafka.scram.password-file names \(passwordFile), which \(reason)")
            } else if PasswordFile.read(at: passwordFile)?.isEmpty ?? true {
                problems.append("kafka.scram.password-file names \(passwordFile), which is empty")
            }
        } else {
            problems.append(
                "kafka.scram.password-file is missing; kafka.security.protocol \(security.rawValue) needs it")
        }
        return problems
    }

    private func propertyProblems() -> [String] {
        properties.keys.sorted().compactMap { name in
            if ReservedProperties.contains(name) {
                "kafka.properties sets \(name), on which Flotilla's guarantees depend; remove it"
            } else if ReservedProperties.isSecret(name) {
                "kafka.properties sets \(name), a secret that would be shown; use the setting for it that ends in -file"
            } else {
                nil
            }
        }
    }
}

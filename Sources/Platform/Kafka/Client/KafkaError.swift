internal import CRdKafka

/// A failed call to the cluster.
package struct KafkaError: Error, Hashable, CustomStringConvertible {
    /// The attempted action, which completes "cannot …", such as "create topic jobs".
    package let action: String
    package let code: KafkaErrorCode
    package let text: String

    package init(action: String, code: KafkaErrorCode, text: String) {
        self.action = action
        self.code = code
        self.text = text
    }

    init(action: String, code: KafkaErrorCode) { self.init(action: action, code: code, text: code.text) }

    package var description: String { "cannot \(action): \(text) (\(code.name)); \(code.remedy)" }
}

extension KafkaErrorCode {
    init(_ code: rd_kafka_resp_err_t) { self.init(rawValue: code.rawValue) }

    /// The error's name in Kafka's documentation.
    package var name: String {
        unsafe String(cString: rd_kafka_err2name(rd_kafka_resp_err_t(rawValue: rawValue)))
    }

    /// The library's text for the error.
    package var text: String {
        unsafe String(cString: rd_kafka_err2str(rd_kafka_resp_err_t(rawValue: rawValue)))
    }
}

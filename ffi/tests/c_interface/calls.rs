//! The calls of a program, but those of endpoints.
//!
//! Each method is one call, or some that belong together; it draws its parameters from the input,
//! and takes the handles in that the call returned.

use core::ffi::{CStr, c_void};
use core::ptr;

use milepost_ffi::archive_check::*;
use milepost_ffi::archive_status::*;
use milepost_ffi::chain::*;
use milepost_ffi::endpoint::*;
use milepost_ffi::engine::*;
use milepost_ffi::hash::*;
use milepost_ffi::import_summary::*;
use milepost_ffi::message_builder::*;
use milepost_ffi::proof::*;
use milepost_ffi::request::*;
use milepost_ffi::response::*;
use milepost_ffi::settings::*;
use milepost_ffi::status::*;
use milepost_ffi::storage::*;
use milepost_ffi::storage_check::*;
use milepost_ffi::transaction::*;
use milepost_ffi::value::*;
use milepost_ffi::version::*;

use super::handles::{Handles, call, check, sized, text};
use super::host;
use super::input::Input;

/// Calls of a program at most
const MAX_CALLS: usize = 64;
/// A program that runs
pub(crate) struct Program<'bytes> {
    pub(crate) input: Input<'bytes>,
    pub(crate) settings: Handles<milepost_settings>,
    pub(crate) engines: Handles<milepost_engine>,
    pub(crate) endpoints: Handles<milepost_endpoint>,
    pub(crate) responses: Handles<milepost_response>,
    pub(crate) summaries: Handles<milepost_import_summary>,
    pub(crate) chains: Handles<milepost_chain_status>,
    archives: Handles<milepost_archive_status>,
    builders: Handles<milepost_message_builder>,
    transactions: Handles<milepost_transaction>,
    pub(crate) proofs: Handles<milepost_json>,
    requests: Handles<milepost_request>,
    /// What an endpoint waits for: the handle of an operation, and how many rows it needs
    pub(crate) needs: Vec<(u64, usize)>,
}

impl<'bytes> Program<'bytes> {
    pub(crate) fn new(bytes: &'bytes [u8]) -> Self {
        Self {
            input: Input(bytes),
            settings: Handles::new(milepost_settings_free),
            engines: Handles::new(milepost_engine_free),
            endpoints: Handles::new(milepost_endpoint_free),
            responses: Handles::new(milepost_response_free),
            summaries: Handles::new(milepost_import_summary_free),
            chains: Handles::new(milepost_chain_status_free),
            archives: Handles::new(milepost_archive_status_free),
            builders: Handles::new(milepost_message_builder_free),
            transactions: Handles::new(milepost_transaction_free),
            proofs: Handles::new(milepost_json_free),
            requests: Handles::new(milepost_request_free),
            needs: Vec::new(),
        }
    }

    pub(crate) fn run(mut self) {
        for _ in 0..MAX_CALLS {
            if self.input.is_empty() {
                return;
            }
            match self.input.below(38) {
                0 => self.make_settings(),
                1 => self.set(),
                2 => self.set_archive(),
                3 => self.make_engine(),
                4 => self.make_engine_over(),
                5..=7 => self.import_block(),
                8 => self.put_config(),
                9 | 10 => self.respond(),
                11 => self.read_response(),
                12 => self.read_batch(),
                13 => self.chain_status(),
                14 => self.read_summary(),
                15 => self.make_endpoint(),
                16 => self.handle_request(),
                17 => self.handle_block(),
                18 => self.handle_query(),
                19..=21 => self.poll(),
                22 => self.supply_rows(),
                23 => self.end_commit(),
                24 => self.advance_time(),
                25 => self.prove(),
                26 => self.build_message(),
                27 => self.decode(),
                28 => self.parse_hash(),
                29 => self.parse_request(),
                30 => self.archive_status(),
                31 => self.free(),
                32 => self.open_engine(),
                33 => self.check_storage(),
                34 => self.check_archive(),
                35 => self.answer_calls(),
                36 => self.respond_parsed(),
                _ => self.read_names(),
            }
        }
    }

    fn behaviors(&mut self) -> Vec<u8> {
        let count = self.input.below(8);
        (0..count).map(|_| self.input.byte() % 12).collect()
    }

    fn make_settings(&mut self) {
        let mut settings = ptr::null_mut();
        call!(self, milepost_settings_new(&mut settings));
        self.settings.add(settings);
    }

    fn set(&mut self) {
        let settings = self.settings.pick(&mut self.input);
        let (setting, value) = (self.input.below(18) as i32, self.input.number());
        call!(self, milepost_settings_set(settings, setting, value));
    }

    fn set_archive(&mut self) {
        let settings = self.settings.pick(&mut self.input);
        let (behaviors, is_writer) = (self.behaviors(), !self.input.is_rare());
        let archive = host::archive(behaviors, is_writer);
        if !call!(self, milepost_settings_set_archive(settings, &archive)) {
            finalize(archive.finalize, archive.context);
        }
    }

    fn make_engine(&mut self) {
        let settings = self.settings.pick(&mut self.input);
        let mut engine = ptr::null_mut();
        call!(self, milepost_engine_new(settings, &mut engine));
        self.engines.add(engine);
    }

    fn make_engine_over(&mut self) {
        let settings = self.settings.pick(&mut self.input);
        let (behaviors, has_get_many) = (self.behaviors(), !self.input.is_rare());
        let mut storage = host::storage(behaviors, has_get_many);
        storage.isolation = self.input.below(4) as i32;
        let mut engine = ptr::null_mut();
        if !call!(self, milepost_engine_new_over(&storage, settings, &mut engine)) {
            finalize(storage.finalize, storage.context);
        }
        self.engines.add(engine);
    }

    fn open_engine(&mut self) {
        let settings = self.settings.pick(&mut self.input);
        let path = host::path(self.input.byte());
        let mut engine = ptr::null_mut();
        call!(self, milepost_engine_open(path.as_ptr(), path.len(), settings, &mut engine));
        self.engines.add(engine);
    }

    fn check_storage(&mut self) {
        let context = host::Checked::new(self.behaviors(), self.input.byte());
        let create = (!self.input.is_rare()).then_some(host::create_storage as _);
        call!(self, milepost_storage_check(create, context.as_pointer()));
    }

    fn check_archive(&mut self) {
        let context = host::Checked::new(self.behaviors(), self.input.byte());
        let create = (!self.input.is_rare()).then_some(host::create_archive as _);
        call!(self, milepost_archive_check(create, context.as_pointer()));
    }

    fn read_names(&mut self) {
        let number = self.input.number() as milepost_status_t;
        // SAFETY: both texts are constants, and the name ends with a NUL.
        let (name, version) = unsafe {
            (CStr::from_ptr(milepost_status_name(number)), text(milepost_version_text()))
        };
        assert!(!name.is_empty());
        assert!(version.starts_with(&(milepost_version_number() >> 16).to_string()));
    }

    fn import_block(&mut self) {
        let (engine, message) = (self.engines.pick(&mut self.input), self.input.text());
        let mut summary = ptr::null_mut();
        let (data, length) = (message.as_ptr(), message.len());
        call!(self, milepost_engine_import_block(engine, data, length, &mut summary));
        self.summaries.add(summary);
    }

    /// The id of an epoch, or none
    pub(crate) fn epoch_id(&mut self) -> Option<milepost_hash> {
        (self.input.below(2) == 0).then(|| self.input.hash())
    }

    fn put_config(&mut self) {
        let (engine, config) = (self.engines.pick(&mut self.input), self.input.text());
        let (epoch_id, height) = (self.epoch_id(), self.input.number());
        let epoch_id = epoch_id.as_ref().map_or(ptr::null(), ptr::from_ref);
        let (data, length) = (config.as_ptr(), config.len());
        call!(self, milepost_engine_put_config(engine, epoch_id, height, data, length));
    }

    fn respond(&mut self) {
        let (engine, body) = (self.engines.pick(&mut self.input), self.input.text());
        let mut response = ptr::null_mut();
        let (data, length) = (body.as_ptr(), body.len());
        call!(self, milepost_engine_respond(engine, data, length, ptr::null(), 0, &mut response));
        self.check_body(response);
        self.responses.add(response);
    }

    /// The body of a response is JSON, unless it is empty
    pub(crate) fn check_body(&mut self, response: *mut milepost_response) {
        if response.is_null() {
            return;
        }
        let mut body = milepost_bytes { data: ptr::null(), len: 0 };
        assert!(call!(self, milepost_response_body(response, &mut body)));
        // SAFETY: the response is not freed yet.
        let body = unsafe { text(body) };
        let is_json = serde_json::from_str::<serde_json::Value>(body).is_ok();
        assert!(body.is_empty() || is_json, "{body}");
    }

    fn read_response(&mut self) {
        let response = self.responses.pick(&mut self.input);
        let index = self.input.number() as usize;
        let mut bytes = milepost_bytes { data: ptr::null(), len: 0 };
        let mut kind = 0;
        call!(self, milepost_response_kind(response, &mut kind));
        if call!(self, milepost_response_result_json(response, &mut bytes)) {
            // SAFETY: the response is not freed yet.
            unsafe { text(bytes) };
        }
        let mut status: milepost_transaction_status = sized();
        call!(self, milepost_response_transaction_status(response, &mut status));
        let mut outcome: milepost_outcome = sized();
        call!(self, milepost_response_outcome(response, index, &mut outcome));
        if call!(self, milepost_response_receipt(response, index, &mut bytes)) {
            // SAFETY: the response is not freed yet.
            unsafe { text(bytes) };
        }
        let mut rpc_error: milepost_rpc_error = sized();
        if call!(self, milepost_response_rpc_error(response, &mut rpc_error)) {
            // SAFETY: the response is not freed yet.
            unsafe { text(rpc_error.name) };
        }
    }

    fn read_batch(&mut self) {
        let response = self.responses.pick(&mut self.input);
        let (mut length, mut item) = (0, ptr::null_mut());
        call!(self, milepost_response_batch_len(response, &mut length));
        let index = self.input.number() as usize;
        if call!(self, milepost_response_batch_item(response, index, &mut item)) {
            assert!(index < length);
        }
        self.check_body(item);
        self.responses.add(item);
    }

    fn chain_status(&mut self) {
        let engine = self.engines.pick(&mut self.input);
        let mut chain = ptr::null_mut();
        call!(self, milepost_engine_chain_status(engine, &mut chain));
        self.chains.add(chain);
        let chain = self.chains.pick(&mut self.input);
        let mut view: milepost_chain_status_view = sized();
        call!(self, milepost_chain_status_read(chain, &mut view));
    }

    fn read_summary(&mut self) {
        let summary = self.summaries.pick(&mut self.input);
        let index = self.input.number() as usize;
        let mut view: milepost_import_summary_view = sized();
        call!(self, milepost_import_summary_read(summary, &mut view));
        let mut hash = milepost_hash { bytes: [0; 32] };
        call!(self, milepost_import_summary_transaction(summary, index, &mut hash));
        let mut point = milepost_block_point { height: 0, hash };
        call!(self, milepost_import_summary_reverted(summary, index, &mut point));
        call!(self, milepost_import_summary_reapplied(summary, index, &mut point));
        let mut type_mismatches: milepost_type_mismatches = sized();
        call!(self, milepost_import_summary_type_mismatches(summary, &mut type_mismatches));
        let mut verification: milepost_verification = sized();
        call!(self, milepost_import_summary_verification(summary, &mut verification));
        let endpoint = self.endpoints.pick(&mut self.input);
        call!(self, milepost_endpoint_handle_chain_update(endpoint, summary));
    }

    fn prove(&mut self) {
        let engine = self.engines.pick(&mut self.input);
        let (hash, block) = (self.input.hash(), self.input.text());
        let (mut proof, mut proven, mut is_complete) = (ptr::null_mut(), ptr::null_mut(), 0);
        let (data, length) = (block.as_ptr(), block.len());
        call!(self, milepost_engine_prove(engine, &hash, data, length, &mut proof));
        self.proofs.add(proof);
        let proof = self.proofs.pick(&mut self.input);
        let mut json = milepost_bytes { data: ptr::null(), len: 0 };
        if !call!(self, milepost_json_text(proof, &mut json)) {
            return;
        }
        // SAFETY: the proof is not freed yet.
        let proof = unsafe { text(json) }.to_owned();
        let (answer, other) = (self.input.text(), self.input.hash());
        let (data, length) = (answer.as_ptr(), answer.len());
        call!(
            self,
            milepost_verify_answer(
                data,
                length,
                proof.as_ptr(),
                proof.len(),
                &hash,
                &other,
                &mut is_complete,
                &mut proven,
            )
        );
        self.proofs.add(proven);
    }

    fn build_message(&mut self) {
        let hash = self.input.hash();
        let mut builder = ptr::null_mut();
        if self.builders.list.is_empty() || self.input.is_rare() {
            let height = self.input.number();
            let last_final = self.input.hash();
            call!(
                self,
                milepost_message_builder_new(
                    height,
                    &hash,
                    &last_final,
                    &hash,
                    &last_final,
                    80,
                    &mut builder,
                )
            );
            self.builders.add(builder);
        }
        let builder = self.builders.pick(&mut self.input);
        let [one, two] = [self.input.text(), self.input.text()];
        let (first, second) = ((one.as_ptr(), one.len()), (two.as_ptr(), two.len()));
        match self.input.below(3) {
            0 => {
                call!(
                    self,
                    milepost_message_builder_add_transaction(
                        builder, first.0, first.1, second.0, second.1,
                    )
                );
            }
            1 => {
                call!(
                    self,
                    milepost_message_builder_add_outcome(
                        builder, first.0, first.1, second.0, second.1,
                    )
                );
            }
            _ => {
                call!(self, milepost_message_builder_add_receipt(builder, first.0, first.1));
            }
        }
        let mut message = milepost_bytes { data: ptr::null(), len: 0 };
        if !call!(self, milepost_message_builder_text(builder, &mut message)) {
            return;
        }
        let (engine, mut summary) = (self.engines.pick(&mut self.input), ptr::null_mut());
        // The text is that of the builder, which is not used meanwhile.
        let (data, length) = (message.data, message.len);
        call!(self, milepost_engine_import_block(engine, data, length, &mut summary));
        self.summaries.add(summary);
    }

    fn decode(&mut self) {
        let bytes = self.input.text();
        let (mut transaction, data, length) = (ptr::null_mut(), bytes.as_ptr(), bytes.len());
        match self.input.below(2) {
            0 => call!(self, milepost_transaction_decode(data, length, &mut transaction)),
            _ => call!(self, milepost_transaction_decode_base64(data, length, &mut transaction)),
        };
        self.transactions.add(transaction);
        let transaction = self.transactions.pick(&mut self.input);
        let mut view: milepost_transaction_view = sized();
        call!(self, milepost_transaction_read(transaction, &mut view));
    }

    fn parse_hash(&mut self) {
        let bytes = self.input.text();
        let mut hash = self.input.hash();
        let mut formatted = milepost_hash_text { bytes: [0; 44], len: 0 };
        call!(self, milepost_hash_parse(bytes.as_ptr(), bytes.len(), &mut hash));
        assert!(call!(self, milepost_hash_format(&hash, &mut formatted)));
        let mut again = milepost_hash { bytes: [0; 32] };
        let (data, length) = (formatted.bytes.as_ptr(), formatted.len as usize);
        assert!(call!(self, milepost_hash_parse(data, length, &mut again)));
        assert_eq!(again.bytes, hash.bytes);
    }

    fn parse_request(&mut self) {
        let (settings, body) = (self.settings.pick(&mut self.input), self.input.text());
        let mut request = ptr::null_mut();
        let (data, length) = (body.as_ptr(), body.len());
        call!(self, milepost_request_parse(settings, data, length, ptr::null(), 0, &mut request));
        self.requests.add(request);
        let (request, mut response) = (self.requests.pick(&mut self.input), ptr::null_mut());
        call!(self, milepost_request_invalid(request, &mut response));
        self.check_body(response);
        self.responses.add(response);
    }

    fn answer_calls(&mut self) {
        let request = self.requests.pick(&mut self.input);
        let (mut calls, index) = (0, self.input.below(4));
        call!(self, milepost_request_calls(request, &mut calls));
        let mut found: milepost_call = sized();
        if call!(self, milepost_request_call(request, index, &mut found)) {
            assert!(index < calls);
            // SAFETY: they belong to the request, which is not changed meanwhile.
            let (id, params) = unsafe { (text(found.id), text(found.other_params)) };
            assert!(!id.is_empty() && (params.is_empty() || found.is_valid == 1));
        }
        let json = match self.input.below(3) {
            0 => self.input.text(),
            1 => b"{\"a\":[1]}".to_vec(),
            _ => b"7".to_vec(),
        };
        let (data, length) = (json.as_ptr(), json.len());
        if self.input.is_rare() {
            let kind = self.input.below(9) as i32;
            call!(self, milepost_request_refuse(request, index, data, length, kind));
        } else {
            call!(self, milepost_request_answer(request, index, data, length));
        }
    }

    fn respond_parsed(&mut self) {
        let request = self.requests.pick(&mut self.input);
        let mut response = ptr::null_mut();
        if self.input.is_rare() {
            let endpoint = self.endpoints.pick(&mut self.input);
            let (mut handle, now) = (0, self.input.number());
            call!(
                self,
                milepost_endpoint_handle_parsed(
                    endpoint,
                    now,
                    7,
                    request,
                    &mut handle,
                    &mut response,
                )
            );
        } else {
            let engine = self.engines.pick(&mut self.input);
            call!(self, milepost_engine_respond_parsed(engine, request, &mut response));
        }
        self.check_body(response);
        self.responses.add(response);
    }

    fn archive_status(&mut self) {
        let engine = self.engines.pick(&mut self.input);
        let mut status = ptr::null_mut();
        call!(self, milepost_engine_archive_status(engine, &mut status));
        self.archives.add(status);
        let status = self.archives.pick(&mut self.input);
        let mut view: milepost_archive_status_view = sized();
        call!(self, milepost_archive_status_read(status, &mut view));
    }

    fn free(&mut self) {
        let Self { input, .. } = self;
        match input.below(11) {
            0 => self.settings.free_any(input),
            1 => self.engines.free_any(input),
            2 => self.endpoints.free_any(input),
            3 => self.responses.free_any(input),
            4 => self.summaries.free_any(input),
            5 => self.chains.free_any(input),
            6 => self.archives.free_any(input),
            7 => self.builders.free_any(input),
            8 => self.transactions.free_any(input),
            9 => self.requests.free_any(input),
            _ => self.proofs.free_any(input),
        }
    }
}

/// Ends a storage or an archive that the library did not take
fn finalize(finalize: milepost_finalize_fn, context: *mut c_void) {
    let finalize = finalize.expect("there is one");
    // SAFETY: the library refused it, so this host ends it, once.
    unsafe { finalize(context) };
}
